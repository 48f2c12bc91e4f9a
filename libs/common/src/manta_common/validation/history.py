"""Rules for the history server's collector."""

from collections.abc import Iterator, Mapping
from typing import Final

from msgspec import UNSET

from manta_common.api import containers, env
from manta_common.api.rayoptions import CollectorOptions
from manta_common.api.templates import EnvVar, TemplateSpec, env_vars
from manta_common.validation.problem import Problem, Rule
from manta_common.validation.view import ClusterView, by_name

GATE: Final = Rule(
    "RayClusterHistoryServer feature gate is not enabled",
    "Start the operator with the feature gate RayClusterHistoryServer=true, or leave historyServerOptions out.",
)
COLLECTOR_UNSET: Final = Rule(
    "historyServerOptions.collectorOptions must be set", "Describe the collector in collectorOptions."
)
IMAGE_UNSET: Final = Rule(
    "historyServerOptions.collectorOptions.image must be set", "Name the collector's image in collectorOptions.image."
)
RESERVED_ENV: Final = Rule(
    "historyServerOptions.collectorOptions.env must not contain {name}: it is managed by KubeRay and injected "
    "automatically into the collector container",
    "Remove {name} from collectorOptions.env.",
)
BACKEND_UNSET: Final = Rule(
    "STORAGE_BACKEND environment variable must be set with a literal string value in "
    "historyServerOptions.collectorOptions.env",
    "Add STORAGE_BACKEND to collectorOptions.env with a value of GCS, S3, AZUREBLOB or ALIYUNOSS.",
)
BACKEND_NEEDS: Final = Rule(
    "{name} environment variable must be set when STORAGE_BACKEND is {backend}", "Add {name} to collectorOptions.env."
)
AZURE_MODE_NEEDS: Final = Rule(
    "{name} environment variable must be set when STORAGE_BACKEND is AZUREBLOB and AZURE_STORAGE_AUTH_MODE is {mode}",
    "Add {name} to collectorOptions.env.",
)
AZURE_NEEDS_EITHER: Final = Rule(
    "either AZURE_STORAGE_CONNECTION_STRING or AZURE_STORAGE_ACCOUNT_URL environment variable must be set when "
    "STORAGE_BACKEND is AZUREBLOB",
    "Add AZURE_STORAGE_CONNECTION_STRING or AZURE_STORAGE_ACCOUNT_URL to collectorOptions.env.",
)
HEAD_CONTAINER: Final = Rule(
    "head pod template must not define a container with name 'ray-history-collector' when history server collector "
    "options are enabled",
    "Rename the container.",
)
WORKER_CONTAINER: Final = Rule(
    "worker group {group} pod template must not define a container with name 'ray-history-collector' when history "
    "server collector options are enabled",
    "Rename the container.",
)

BACKEND_VARIABLES: Final = {
    "GCS": (env.GCS_BUCKET,),
    "S3": (env.S3_REGION,),
    "ALIYUNOSS": (env.OSS_BUCKET, env.OSS_ENDPOINT, env.OSS_REGION),
}
AZURE_VARIABLES: Final = {
    "connection_string": env.AZURE_CONNECTION_STRING,
    "workload_identity": env.AZURE_ACCOUNT_URL,
    "default": env.AZURE_ACCOUNT_URL,
}


def problems(view: ClusterView) -> Iterator[Problem]:
    """Yield what is wrong with a cluster's history options."""
    options, path = view.spec.history_server_options, f"{view.path}.historyServerOptions"
    if options is None:
        return
    if not view.gates.history_server:
        yield GATE.at(path)
    if options.collector_options is None:
        yield COLLECTOR_UNSET.at(f"{path}.collectorOptions")
    else:
        yield from _collector(options.collector_options, f"{path}.collectorOptions")
    yield from _containers(view)


def _collector(options: CollectorOptions, path: str) -> Iterator[Problem]:
    if not options.image:
        yield IMAGE_UNSET.at(f"{path}.image")
    variables = by_name(env_vars(options.env))
    for name in env.COLLECTOR_RESERVED:
        if name in variables:
            yield RESERVED_ENV.at(f"{path}.env[{name}]", name=name)
    backend = variables.get(env.STORAGE_BACKEND)
    if backend is None or not backend.value:
        yield BACKEND_UNSET.at(f"{path}.env[{env.STORAGE_BACKEND}]")
    else:
        yield from _backend(backend.value.upper(), variables, path)


def _backend(backend: str, variables: Mapping[str, EnvVar], path: str) -> Iterator[Problem]:
    if backend == "AZUREBLOB":
        yield from _azure(variables, path)
    for name in BACKEND_VARIABLES.get(backend, ()):
        if not _is_set(variables, name):
            yield BACKEND_NEEDS.at(f"{path}.env[{name}]", name=name, backend=backend)


def _azure(variables: Mapping[str, EnvVar], path: str) -> Iterator[Problem]:
    chosen = variables.get(env.AZURE_AUTH_MODE)
    mode = chosen.value.strip().lower() if chosen else ""
    needed = AZURE_VARIABLES.get(mode)
    if needed and not _is_set(variables, needed):
        yield AZURE_MODE_NEEDS.at(f"{path}.env[{needed}]", name=needed, mode=mode)
    either = (env.AZURE_CONNECTION_STRING, env.AZURE_ACCOUNT_URL)
    if not needed and not any(_is_set(variables, name) for name in either):
        yield AZURE_NEEDS_EITHER.at(f"{path}.env")


def _is_set(variables: Mapping[str, EnvVar], name: str) -> bool:
    variable = variables.get(name)
    return variable is not None and (variable.value != "" or variable.value_from is not UNSET)


def _containers(view: ClusterView) -> Iterator[Problem]:
    if _has_collector(view.head):
        yield HEAD_CONTAINER.at(f"{view.head_path}.template.spec.containers[{containers.HISTORY_COLLECTOR}]")
    for group in view.groups:
        if _has_collector(group.pod):
            path = f"{group.path}.template.spec.containers[{containers.HISTORY_COLLECTOR}]"
            yield WORKER_CONTAINER.at(path, group=group.name)


def _has_collector(pod: TemplateSpec) -> bool:
    return any(container.name == containers.HISTORY_COLLECTOR for container in pod.containers)
