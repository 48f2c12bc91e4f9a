"""The flags of `ray start`: what the user gave, and what follows from resources, labels and addresses."""

import re
from collections.abc import Mapping
from typing import Final

import msgspec

from manta_common.api import containers
from manta_common.api.templates import Resources
from manta_common.api.wire import Quantity as Written
from manta_common.gojson import encode
from manta_common.ray.quantities import Quantity, QuantityError, amount

Params = dict[str, str]

ACCELERATORS: Final = {"aws.amazon.com/neuroncore": "neuron_cores", "google.com/tpu": "TPU"}
_MIG: Final = re.compile(r"nvidia\.com/mig-\d+g\.\d+gb$")
# These flags take a value even where it is true or false.
_WITH_VALUE: Final = frozenset({"log-color", "include-dashboard", "include-log-monitor"})


def is_gpu(resource: str) -> bool:
    """Whether a resource's name is that of a GPU or of a part of one."""
    return resource.endswith("gpu") or _MIG.search(resource) is not None


def flags(params: Mapping[str, str]) -> str:
    """The parameters as they follow `ray start`."""
    return "".join(_flag(name, params[name]) for name in sorted(params, key=str.encode))


def with_group_fields(params: Mapping[str, str], resources: Mapping[str, str], labels: Mapping[str, str]) -> Params:
    """The user's parameters with the group's own `resources` and `labels`, which win."""
    joined = {"labels": ",".join(f"{name}={labels[name]}" for name in sorted(labels))} if labels else {}
    return {**params, **_from_resources(resources), **joined}


def head_params(params: Mapping[str, str], resources: Resources) -> Params:
    """All parameters of a head."""
    return {"dashboard-host": "0.0.0.0"} | _with_defaults(params, resources)


def worker_params(params: Mapping[str, str], resources: Resources, address: str) -> Params:
    """All parameters of a worker that joins the head at an address."""
    return {"address": address} | _with_defaults(params, resources)


def _flag(name: str, value: str) -> str:
    if name not in _WITH_VALUE and value.lower() == "true":
        return f" --{name} "
    if name not in _WITH_VALUE and value.lower() == "false":
        return ""
    return f" --{name}={value} "


def _from_resources(resources: Mapping[str, str]) -> Params:
    found: Params = {}
    custom: dict[str, float] = {}
    for name in sorted(resources):
        quantity = _quantity(resources[name])
        if quantity is None:
            continue
        flag = _flag_of(name.lower())
        if flag is None:
            custom[name] = quantity.approximate
        else:
            found.setdefault(flag, str(quantity.value))
    return found | ({"resources": f"'{encode(custom)}'"} if custom else {})


def _flag_of(resource: str) -> str | None:
    if resource == "cpu":
        return "num-cpus"
    if resource == "memory":
        return "memory"
    return "num-gpus" if is_gpu(resource) else None


def _with_defaults(params: Mapping[str, str], resources: Resources) -> Params:
    usual = {
        "metrics-export-port": str(containers.METRICS_PORT),
        "dashboard-agent-listen-port": str(containers.DASHBOARD_AGENT_PORT),
    }
    limits, requests = resources.limits, resources.requests
    cpus = _amount(limits, "cpu") or _amount(requests, "cpu")
    memory = _amount(limits, "memory")
    derived = {"num-cpus": str(cpus)} if cpus else {}
    derived |= {"memory": str(memory)} if memory else {}
    return _with_accelerators(usual | derived | dict(params) | {"block": "true"}, limits)


def _with_accelerators(params: Params, limits: Mapping[str, Written]) -> Params:
    """GPUs and at most one other accelerator, which Ray learns of from the limits; user's resources must be legible."""
    if not limits:
        return params
    custom = _custom_resources(params)
    if custom is None:
        return params
    present = [name for name in sorted(limits) if _amount(limits, name)]
    gpu = next((name for name in present if is_gpu(name)), None)
    gpus = {"num-gpus": str(_amount(limits, gpu))} if gpu else {}
    return gpus | params | _accelerator(custom, present, limits)


def _accelerator(custom: dict[str, float], present: list[str], limits: Mapping[str, Written]) -> Params:
    found = next((name for name in present if name in ACCELERATORS), None)
    if found is None or not custom.keys().isdisjoint(ACCELERATORS.values()):
        return {}
    return {"resources": f"'{encode(custom | {ACCELERATORS[found]: float(_amount(limits, found))})}'"}


def _custom_resources(params: Params) -> dict[str, float] | None:
    if "resources" not in params:
        return {}
    try:
        return msgspec.json.decode(params["resources"].strip("'\"` "), type=dict[str, float])
    except msgspec.DecodeError:
        return None


def _amount(amounts: Mapping[str, Written], name: str) -> int:
    return amount(amounts[name]).value if name in amounts else 0


def _quantity(text: str) -> Quantity | None:
    try:
        return Quantity.parse(text)
    except QuantityError:
        return None
