"""The flags of `ray start`, by where each comes from."""

import msgspec
import pytest

from manta_common.api.templates import Resources
from manta_common.ray.params import flags, head_params, is_gpu, with_group_fields, worker_params

HEAD_DEFAULTS = {
    "block": "true",
    "dashboard-agent-listen-port": "52365",
    "dashboard-host": "0.0.0.0",
    "metrics-export-port": "8080",
}


def resources(**amounts: dict[str, str]) -> Resources:
    return msgspec.convert(amounts, Resources)


@pytest.mark.parametrize(
    ("params", "line"),
    [
        pytest.param({}, "", id="no parameters"),
        pytest.param({"b": "1", "a": "x y"}, " --a=x y  --b=1 ", id="in order, unquoted, a space on both sides"),
        pytest.param({"block": "True"}, " --block ", id="true in any case is the bare flag"),
        pytest.param({"block": "FALSE"}, "", id="false in any case is no flag"),
        pytest.param({"include-dashboard": "true"}, " --include-dashboard=true ", id="some flags take true as a value"),
        pytest.param({"log-color": "false"}, " --log-color=false ", id="and false"),
        pytest.param({"include-log-monitor": "False"}, " --include-log-monitor=False ", id="as it was written"),
        pytest.param({"port": ""}, " --port= ", id="an empty value"),
    ],
)
def test_flags(params: dict[str, str], line: str) -> None:
    assert flags(params) == line


@pytest.mark.parametrize(
    ("given", "found"),
    [
        pytest.param({}, {}, id="nothing given"),
        pytest.param({"CPU": "500m"}, {"num-cpus": "1"}, id="CPUs are rounded up, the name in any case"),
        pytest.param({"memory": "1Gi"}, {"memory": str(2**30)}, id="memory in bytes"),
        pytest.param({"GPU": "2"}, {"num-gpus": "2"}, id="GPUs by a name that ends so"),
        pytest.param({"nvidia.com/gpu": "1"}, {"num-gpus": "1"}, id="GPUs by their Kubernetes name"),
        pytest.param(
            {"TPU": "4", "a": "0.5"}, {"resources": '\'{"TPU":4,"a":0.5}\''}, id="others as Ray's own resources"
        ),
        pytest.param({"a": "many", "CPU": "2"}, {"num-cpus": "2"}, id="what cannot be read is left out"),
    ],
)
def test_the_resources_of_a_group(given: dict[str, str], found: dict[str, str]) -> None:
    assert with_group_fields({}, given, {}) == found


def test_a_group_s_fields_win_over_its_parameters() -> None:
    made = with_group_fields({"num-cpus": "9", "port": "1"}, {"cpu": "2"}, {"z": "1", "a": "b"})
    assert made == {"num-cpus": "2", "port": "1", "labels": "a=b,z=1"}


@pytest.mark.parametrize(
    ("limits", "requests", "params", "added"),
    [
        pytest.param({}, {}, {}, {}, id="no resources, no flags"),
        pytest.param({"cpu": "1500m"}, {"cpu": "1"}, {}, {"num-cpus": "2"}, id="the CPU limit, rounded up"),
        pytest.param({}, {"cpu": "500m"}, {}, {"num-cpus": "1"}, id="the CPU request where there is no limit"),
        pytest.param({"cpu": "0"}, {"cpu": "3"}, {}, {"num-cpus": "3"}, id="a limit of zero counts as none"),
        pytest.param({"cpu": "4"}, {}, {"num-cpus": "0"}, {"num-cpus": "0"}, id="the user's number of CPUs"),
        pytest.param({"memory": "1Gi"}, {}, {}, {"memory": str(2**30)}, id="the memory limit in bytes"),
        pytest.param({}, {"memory": "1Gi"}, {}, {}, id="a memory request does not count"),
        pytest.param({"memory": "1Gi"}, {}, {"memory": "5"}, {"memory": "5"}, id="the user's memory"),
        pytest.param({"nvidia.com/gpu": "3"}, {}, {}, {"num-gpus": "3"}, id="GPUs by their limit"),
        pytest.param({}, {"nvidia.com/gpu": "3"}, {}, {}, id="a GPU request does not count"),
        pytest.param(
            {"amd.com/gpu": "0", "nvidia.com/mig-1g.5gb": "2"},
            {},
            {},
            {"num-gpus": "2"},
            id="the first that is not zero",
        ),
        pytest.param({"nvidia.com/gpu": "3"}, {}, {"num-gpus": "1"}, {"num-gpus": "1"}, id="the user's number of GPUs"),
        pytest.param({"google.com/tpu": "4"}, {}, {}, {"resources": "'{\"TPU\":4}'"}, id="TPUs are a custom resource"),
        pytest.param(
            {"aws.amazon.com/neuroncore": "2", "google.com/tpu": "4"},
            {},
            {"resources": '\'{"A": 1, "B": 0.5}\''},
            {"resources": '\'{"A":1,"B":0.5,"neuron_cores":2}\''},
            id="one accelerator at most, beside the user's resources",
        ),
        pytest.param(
            {"google.com/tpu": "4"},
            {},
            {"resources": '"{"TPU": 1}"'},
            {"resources": '"{"TPU": 1}"'},
            id="an accelerator that the user set stays",
        ),
        pytest.param(
            {"google.com/tpu": "4", "nvidia.com/gpu": "1"},
            {},
            {"resources": '"{\\"A\\": 1}"'},
            {"resources": '"{\\"A\\": 1}"'},
            id="illegible resources keep GPUs and accelerators out",
        ),
        pytest.param({}, {}, {"block": "false"}, {}, id="Ray always blocks"),
        pytest.param({}, {}, {"dashboard-host": "::"}, {"dashboard-host": "::"}, id="the user's dashboard address"),
        pytest.param({}, {}, {"metrics-export-port": "1"}, {"metrics-export-port": "1"}, id="the user's metrics port"),
    ],
)
def test_what_follows_from_the_container(
    limits: dict[str, str], requests: dict[str, str], params: dict[str, str], added: dict[str, str]
) -> None:
    made = head_params(params, resources(limits=limits, requests=requests))
    assert made == HEAD_DEFAULTS | added


def test_a_worker_has_the_head_s_address_and_no_dashboard() -> None:
    made = worker_params({}, Resources(), "head:6379")
    assert made == {key: value for key, value in HEAD_DEFAULTS.items() if key != "dashboard-host"} | {
        "address": "head:6379"
    }
    assert worker_params({"address": "mine:1"}, Resources(), "head:6379")["address"] == "mine:1"


@pytest.mark.parametrize(
    ("resource", "is_one"),
    [
        ("gpu", True),
        ("nvidia.com/gpu", True),
        ("nvidia.com/mig-1g.5gb", True),
        ("nvidia.com/mig-1g.5gb.me", False),
        ("GPU", False),
        ("nvidia.com/gpus", False),
    ],
)
def test_which_resources_are_gpus(resource: str, *, is_one: bool) -> None:
    assert is_gpu(resource) is is_one
