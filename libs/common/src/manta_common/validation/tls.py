"""Rules for encryption between a cluster's nodes."""

from collections.abc import Iterable, Iterator
from typing import Final

import msgspec

from manta_common.api import containers, env
from manta_common.api.templates import EnvVar, VolumeMount, env_vars, volume_mounts
from manta_common.validation.problem import Problem, Rule
from manta_common.validation.view import RAY_CONTAINER, ClusterView

GATE: Final = Rule(
    "spec.tlsOptions requires the RayClusterMTLS feature gate to be enabled",
    "Start the operator with the feature gate RayClusterMTLS=true, or leave tlsOptions out.",
)
VARIABLE: Final = Rule(
    "cannot set {name} environment variable in {place} when tlsOptions is set - the operator manages TLS "
    "configuration {scope}automatically",
    "Remove the variable {name}.",
)
MOUNT_NAME: Final = Rule(
    'cannot use volume mount named "ray-tls" in {place} when tlsOptions is set - the operator manages TLS '
    "configuration {scope}automatically",
    "Rename the volume and its mount.",
)
MOUNT_PATH: Final = Rule(
    'cannot use volume mount at path "/etc/ray/tls" in {place} when tlsOptions is set - the operator manages TLS '
    "configuration {scope}automatically",
    "Mount the volume elsewhere.",
)
CERT_MANAGER: Final = Rule(
    "tlsOptions requires cert-manager, but cert-manager is not installed",
    "Install cert-manager and restart the operator, or set tlsOptions.enabled to false.",
)


class _Place(msgspec.Struct, frozen=True):
    env_place: str
    mount_place: str
    scope: str
    path: str


def problems(view: ClusterView) -> Iterator[Problem]:
    """Yield what is wrong with a cluster's TLS options."""
    if view.spec.tls_options is not None and not view.gates.mtls:
        yield GATE.at(f"{view.path}.tlsOptions")
    if not is_enabled(view):
        return
    for place, variables, mounts in _places(view):
        yield from _clashes(place, variables, mounts)


def cert_manager_problems(view: ClusterView, *, installed: bool) -> Iterator[Problem]:
    """Yield a cluster's need of cert-manager where it is missing."""
    if is_enabled(view) and not installed:
        yield CERT_MANAGER.at(f"{view.path}.tlsOptions.enabled")


def is_enabled(view: ClusterView) -> bool:
    """Tell whether a cluster is to be encrypted; without the gate it never is."""
    return view.gates.mtls and view.spec.tls_options is not None and view.spec.tls_options.enabled is True


def _places(view: ClusterView) -> Iterator[tuple[_Place, tuple[EnvVar, ...], tuple[VolumeMount, ...]]]:
    container = view.ray_container
    yield _pod_place("head Pod", f"{view.head_path}.{RAY_CONTAINER}"), container.env, container.volume_mounts
    for group in view.groups:
        place = _pod_place(f'worker group "{group.name}"', f"{group.path}.{RAY_CONTAINER}")
        yield place, group.ray_container.env, group.ray_container.volume_mounts
    options = view.spec.autoscaler_options
    if options is not None:
        scope, path = "for the autoscaler ", f"{view.path}.autoscalerOptions"
        place = _Place("autoscalerOptions.env", "autoscalerOptions.volumeMounts", scope=scope, path=path)
        yield place, env_vars(options.env), volume_mounts(options.volume_mounts)


def _pod_place(place: str, path: str) -> _Place:
    return _Place(place, place, scope="", path=path)


def _clashes(place: _Place, variables: Iterable[EnvVar], mounts: Iterable[VolumeMount]) -> Iterator[Problem]:
    names = {variable.name for variable in variables}
    for name in env.TLS:
        if name in names:
            yield VARIABLE.at(f"{place.path}.env[{name}]", name=name, place=place.env_place, scope=place.scope)
    for mount in mounts:
        path = f"{place.path}.volumeMounts[{mount.mount_path}]"
        if mount.name == containers.TLS_VOLUME:
            yield MOUNT_NAME.at(path, place=place.mount_place, scope=place.scope)
        if mount.mount_path == containers.TLS_PATH:
            yield MOUNT_PATH.at(path, place=place.mount_place, scope=place.scope)
