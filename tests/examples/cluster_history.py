"""Examples of the rules for the history server's collector; paths are within the cluster's spec."""

from manta_common.validation import history
from tests.examples.example import DEFAULT_GATES, Example, Json
from tests.examples.manifests import HEAD, WORKER, both, env, head_pod, worker

PATH = "historyServerOptions.collectorOptions"
COLLECTOR: Json = {"name": "ray-history-collector", "image": "collector"}


def collector(*, image: str = "collector", more: list[Json] | None = None, **variables: str) -> Json:
    """Options with a collector that has an image and these variables."""
    options = {"image": image, "env": [*env(**variables), *(more or [])]}
    return {"historyServerOptions": {"collectorOptions": options}}


def from_secret(name: str) -> list[Json]:
    """A variable whose value is in a Secret."""
    return [{"name": name, "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}]


def _needs(name: str, backend: str, **others: str) -> Example:
    return Example(
        says=f"the backend {backend} needs {name}",
        rule=history.BACKEND_NEEDS,
        good=collector(STORAGE_BACKEND=backend.lower(), more=[*from_secret(name), *env(**others)]),
        bad=collector(STORAGE_BACKEND=backend.lower(), more=env(**{name: ""}, **others)),
        path=f"{PATH}.env[{name}]",
        message=f"{name} environment variable must be set when STORAGE_BACKEND is {backend}",
    )


def _azure(name: str, mode: str) -> Example:
    return Example(
        says=f"Azure's mode {mode} needs {name}",
        rule=history.AZURE_MODE_NEEDS,
        good=collector(STORAGE_BACKEND="AzureBlob", AZURE_STORAGE_AUTH_MODE=mode, more=env(**{name: "x"})),
        bad=collector(STORAGE_BACKEND="AzureBlob", AZURE_STORAGE_AUTH_MODE=f" {mode.upper()} "),
        path=f"{PATH}.env[{name}]",
        message=f"{name} environment variable must be set when STORAGE_BACKEND is AZUREBLOB and "
        f"AZURE_STORAGE_AUTH_MODE is {mode}",
    )


EXAMPLES = (
    Example(
        says="history options need their feature gate",
        rule=history.GATE,
        good={},
        bad=collector(STORAGE_BACKEND="other"),
        path="historyServerOptions",
        message="RayClusterHistoryServer feature gate is not enabled",
        gates=DEFAULT_GATES,
    ),
    Example(
        says="history options need a collector",
        rule=history.COLLECTOR_UNSET,
        good=collector(STORAGE_BACKEND="other"),
        bad={"historyServerOptions": {}},
        path=PATH,
        message="historyServerOptions.collectorOptions must be set",
    ),
    Example(
        says="a collector needs an image",
        rule=history.IMAGE_UNSET,
        good=collector(STORAGE_BACKEND="other"),
        bad=collector(image="", STORAGE_BACKEND="other"),
        path=f"{PATH}.image",
        message="historyServerOptions.collectorOptions.image must be set",
    ),
    Example(
        says="a collector's own variables are ours",
        rule=history.RESERVED_ENV,
        good=collector(STORAGE_BACKEND="other", MY_ROLE="x"),
        bad=collector(STORAGE_BACKEND="other", RAY_ROLE="x"),
        path=f"{PATH}.env[RAY_ROLE]",
        message="historyServerOptions.collectorOptions.env must not contain RAY_ROLE: it is managed by KubeRay and "
        "injected automatically into the collector container",
    ),
    Example(
        says="a collector's backend is written out",
        rule=history.BACKEND_UNSET,
        good=collector(STORAGE_BACKEND="other"),
        bad=collector(more=from_secret("STORAGE_BACKEND")),
        path=f"{PATH}.env[STORAGE_BACKEND]",
        message="STORAGE_BACKEND environment variable must be set with a literal string value in "
        "historyServerOptions.collectorOptions.env",
    ),
    _needs("GCS_BUCKET", "GCS"),
    _needs("S3_REGION", "S3"),
    _needs("OSS_BUCKET", "ALIYUNOSS", OSS_ENDPOINT="x", OSS_REGION="x"),
    _needs("OSS_ENDPOINT", "ALIYUNOSS", OSS_BUCKET="x", OSS_REGION="x"),
    _needs("OSS_REGION", "ALIYUNOSS", OSS_BUCKET="x", OSS_ENDPOINT="x"),
    _azure("AZURE_STORAGE_CONNECTION_STRING", "connection_string"),
    _azure("AZURE_STORAGE_ACCOUNT_URL", "workload_identity"),
    _azure("AZURE_STORAGE_ACCOUNT_URL", "default"),
    Example(
        says="Azure needs an account in one way or the other",
        rule=history.AZURE_NEEDS_EITHER,
        good=collector(STORAGE_BACKEND="AZUREBLOB", AZURE_STORAGE_ACCOUNT_URL="x"),
        bad=collector(STORAGE_BACKEND="AZUREBLOB"),
        path=f"{PATH}.env",
        message="either AZURE_STORAGE_CONNECTION_STRING or AZURE_STORAGE_ACCOUNT_URL environment variable must be set "
        "when STORAGE_BACKEND is AZUREBLOB",
    ),
    Example(
        says="the head has no container of the collector's name",
        rule=history.HEAD_CONTAINER,
        good=head_pod(containers=[HEAD, COLLECTOR]),
        bad=both(collector(STORAGE_BACKEND="other"), head_pod(containers=[HEAD, COLLECTOR])),
        path="headGroupSpec.template.spec.containers[ray-history-collector]",
        message="head pod template must not define a container with name 'ray-history-collector' when history server "
        "collector options are enabled",
    ),
    Example(
        says="a group has no container of the collector's name",
        rule=history.WORKER_CONTAINER,
        good=worker(template={"spec": {"containers": [WORKER, COLLECTOR]}}),
        bad=both(collector(STORAGE_BACKEND="other"), worker(template={"spec": {"containers": [WORKER, COLLECTOR]}})),
        path="workerGroupSpecs[0].template.spec.containers[ray-history-collector]",
        message="worker group small pod template must not define a container with name 'ray-history-collector' when "
        "history server collector options are enabled",
    ),
)
