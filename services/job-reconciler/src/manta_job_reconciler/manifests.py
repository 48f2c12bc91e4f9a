"""The objects that a RayJob or RayCronJob makes, ready to be sent, and what is submitted over HTTP. Pure."""

import copy
import json
from datetime import UTC, datetime
from typing import Any, Final

import msgspec
from msgspec import UNSET

from manta_common import gojson, goyaml
from manta_common.api import annotations, containers, env, labels, names
from manta_common.api.raycluster import RayCluster, RayClusterSpec
from manta_common.api.raycronjob import RayCronJob
from manta_common.api.rayjob import RayJob
from manta_common.api.templates import Container, pod_template
from manta_common.api.wire import to_builtins
from manta_common.dashboard import calls
from manta_common.gotext import GoError
from manta_common.keys import Key
from manta_common.ray.cluster import Unbuildable, asks_for_token, controller_reference
from manta_common.ray.schedulers import volcano
from manta_common.ray.schedulers.marks import mark_of, marked, marked_metadata
from manta_common.ray.schedulers.parent import Parent, job_parent
from manta_common.ray.settings import RaySettings
from manta_job_reconciler.command_line import Submission, arguments, dashboard_address, shell
from manta_job_reconciler.reasons import K8S_JOB_MODE, SIDECAR_MODE

Manifest = dict[str, Any]
SUBMITTER_RETRIES: Final = 2
_RESOURCES: Final = {
    "limits": {"cpu": "1", "memory": "1Gi"},
    "requests": {"cpu": "500m", "memory": "200Mi"},
}


def ray_cluster(job: RayJob, settings: RaySettings) -> Manifest:
    """The cluster of a job; in SidecarMode its head has the submitter beside it."""
    spec = job.spec.ray_cluster_spec
    if spec is None:
        raise Unbuildable("rayClusterSpec is missing")
    is_sidecar = job.spec.submission_mode == SIDECAR_MODE
    added = {annotations.DISABLE_PROVISIONED_HEAD_RESTART: labels.TRUE} if is_sidecar else {}
    marks = {**_origin(job), labels.JOB_SUBMISSION_MODE: job.spec.submission_mode}
    made = dict(to_builtins(spec))
    if is_sidecar:
        made["headGroupSpec"] = _with_sidecar(job, made["headGroupSpec"], settings)
    about: Manifest = {
        "name": job.status.ray_cluster_name,
        "namespace": job.metadata.namespace,
        "labels": {**job.metadata.labels, **marks},
        "annotations": {**job.metadata.annotations, **added},
        "ownerReferences": [controller_reference("RayJob", job.metadata)],
    }
    if job.spec.submission_mode == K8S_JOB_MODE:  # in other modes KubeRay leaves the cluster unmarked
        about = marked_metadata(about, mark_of(_parent(job, spec), "", settings))
    return {"apiVersion": names.API_VERSION, "kind": "RayCluster", "metadata": about, "spec": made}


def submitter_job(job: RayJob, cluster: RayCluster, dashboard_url: str, settings: RaySettings) -> Manifest:
    """The Kubernetes Job that submits the job to its cluster."""
    marks = {**_origin(job), labels.CREATED_BY: labels.CREATED_BY_VALUE}
    config = job.spec.submitter_config
    retries = config.backoff_limit if config and config.backoff_limit is not None else SUBMITTER_RETRIES
    template = _submitter_template(job, cluster, dashboard_url, settings)
    template = marked(template, _parent(job, cluster.spec), labels.SUBMITTER_GROUP, settings)
    about = template.setdefault("metadata", {})
    about["labels"] = {**about.get("labels", {}), **marks}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": job.metadata.name,
            "namespace": job.metadata.namespace,
            "labels": marks,
            "ownerReferences": [controller_reference("RayJob", job.metadata)],
        },
        "spec": {"backoffLimit": retries, "template": template},
    }


def pod_group(job: RayJob, cluster: RayCluster | None, *, ending: bool) -> Manifest:
    """Volcano's PodGroup of a job: of all its pods, or of what an attempt that is over has left."""
    spec = job.spec.ray_cluster_spec
    if spec is None:
        raise Unbuildable("rayClusterSpec is missing")
    if not ending:
        return volcano.pod_group(_parent(job, spec))
    if cluster is None or cluster.metadata.deletion_timestamp is not None:
        return volcano.released_pod_group(job_parent(job, spec))
    return volcano.pod_group(job_parent(job, cluster.spec))


def cron_child(cron: RayCronJob, tick: datetime) -> Manifest:
    """The RayJob of a tick."""
    scheduled = tick.astimezone(UTC)
    return {
        "apiVersion": names.API_VERSION,
        "kind": "RayJob",
        "metadata": {
            "name": names.cron_child(cron.metadata.name, int(scheduled.timestamp())),
            "namespace": cron.metadata.namespace,
            "labels": {labels.CRON_JOB_NAME: cron.metadata.name},
            "annotations": {annotations.CRON_SCHEDULED_AT: f"{scheduled:%Y-%m-%dT%H:%M:%SZ}"},
            "ownerReferences": [controller_reference("RayCronJob", cron.metadata)],
        },
        "spec": dict(to_builtins(cron.spec.job_template)),
    }


def http_submission(job: RayJob, cluster: RayCluster) -> calls.Submission:
    """What the gateway is to submit; Unbuildable when a text in the spec cannot be read."""
    spec = job.spec
    return calls.Submission(
        cluster=Key(cluster.metadata.namespace, cluster.metadata.name),
        cluster_uid=cluster.metadata.uid,
        job_id=job.status.job_id,
        entrypoint=spec.entrypoint,
        runtime_env=_runtime_env(spec.runtime_env_yaml),
        metadata=spec.metadata,
        entrypoint_num_cpus=spec.entrypoint_num_cpus,
        entrypoint_num_gpus=spec.entrypoint_num_gpus,
        entrypoint_resources=_resources(spec.entrypoint_resources),
    )


def _origin(job: RayJob) -> dict[str, str]:
    return {labels.ORIGINATED_FROM_NAME: job.metadata.name, labels.ORIGINATED_FROM_KIND: "RayJob"}


def _parent(job: RayJob, spec: RayClusterSpec) -> Parent:
    """The job as batch schedulers see it, with the pod that submits."""
    default: Manifest = {"spec": {"containers": [_default_container("")]}}
    match job.spec.submission_mode:
        case mode if mode == K8S_JOB_MODE:
            own = job.spec.submitter_pod_template
            return job_parent(job, spec, default if own is UNSET else msgspec.json.decode(own))
        case mode if mode == SIDECAR_MODE:
            return job_parent(job, spec, default)
        case _:
            return job_parent(job, spec)


def _with_sidecar(job: RayJob, head: Manifest, settings: RaySettings) -> Manifest:
    """The head group with the submitter as one more container; a head that ends is not started again."""
    made = copy.deepcopy(head)
    pod = made["template"].setdefault("spec", {})
    pod["containers"] = [*pod.get("containers", ()), _sidecar(job, settings)]
    pod["restartPolicy"] = "Never"
    return made


def _sidecar(job: RayJob, settings: RaySettings) -> Manifest:
    spec = job.spec.ray_cluster_spec
    if spec is None:
        raise Unbuildable("rayClusterSpec is missing")
    first = _head_container(spec)
    ports = (port.container_port for port in first.ports if port.name == containers.DASHBOARD_PORT_NAME)
    port = next(ports, containers.DASHBOARD_PORT)
    restarts = settings.gates.sidecar_restart
    submission = Submission(
        spec=job.spec,
        job_id=job.status.job_id,
        address=f"http://127.0.0.1:{port}",
        health=f"http://localhost:{port}/api/gcs_healthz",
        resumable=restarts,
    )
    made = {
        **_default_container(first.image),
        "command": shell(login=settings.login_shell),
        "args": [arguments(submission)],
        "env": _environment(job, "", _auth(job.status.ray_cluster_name, spec)),
    }
    return made | ({"restartPolicy": "OnFailure"} if restarts else {})


def _submitter_template(job: RayJob, cluster: RayCluster, url: str, settings: RaySettings) -> Manifest:
    """The submitter's pod: the user's own with its first container set up, or one of ours."""
    address = dashboard_address(url)
    health = f"{address}/api/gcs_healthz"
    line = arguments(Submission(spec=job.spec, job_id=job.status.job_id, address=address, health=health))
    own = job.spec.submitter_pod_template
    if own is UNSET:
        default = [_default_container(_head_container(cluster.spec).image)]
        template: Manifest = {"spec": {"containers": default, "restartPolicy": "Never"}}
    else:
        template = msgspec.json.decode(own)
    pod = template.setdefault("spec", {})
    first, *others = pod.get("containers") or [{}]
    if not first.get("command"):
        first |= {"command": shell(login=settings.login_shell), "args": [line]}
    auth = _auth(cluster.metadata.name, cluster.spec)
    first["env"] = [*first.get("env", ()), *_environment(job, url, auth, known=_names(first))]
    pod["containers"] = [first, *others]
    return _with_token(template) if _uses_k8s_tokens(cluster) else template


def _default_container(image: str) -> Manifest:
    return {"name": containers.JOB_SUBMITTER, "image": image, "resources": copy.deepcopy(_RESOURCES)}


def _head_container(spec: RayClusterSpec) -> Container:
    found = pod_template(spec.head_group_spec.template).spec.containers
    if not found:
        raise Unbuildable("headGroupSpec should have at least one container")
    return found[0]


def _environment(job: RayJob, url: str, auth: list[Manifest], *, known: frozenset[str] = frozenset()) -> list[Manifest]:
    own = {"PYTHONUNBUFFERED": "1", env.DASHBOARD_ADDRESS: url, env.JOB_SUBMISSION_ID: job.status.job_id}
    variables = [{"name": name, "value": value} for name, value in own.items()]
    return [*variables, *(variable for variable in auth if variable["name"] not in known)]


def _names(container: Manifest) -> frozenset[str]:
    return frozenset(variable["name"] for variable in container.get("env", ()))


def _auth(cluster_name: str, spec: RayClusterSpec) -> list[Manifest]:
    """The variables by which a submitter proves who it is."""
    options = spec.auth_options
    if options is None or options.mode != "token":
        return []
    mode = {"name": env.RAY_AUTH_MODE, "value": "token"}
    if options.enable_k8s_token_auth:
        return [mode, {"name": env.ENABLE_K8S_TOKEN_AUTH, "value": labels.TRUE}]
    secret = names.auth_secret(cluster_name, options.secret_name or "")
    source = {"secretKeyRef": {"name": secret, "key": containers.AUTH_TOKEN_KEY}}
    return [mode, {"name": env.RAY_AUTH_TOKEN, "valueFrom": source}]


def _uses_k8s_tokens(cluster: RayCluster) -> bool:
    options = cluster.spec.auth_options
    return asks_for_token(cluster) and options is not None and bool(options.enable_k8s_token_auth)


def _with_token(template: Manifest) -> Manifest:
    """The pod with a token of its service account for Ray."""
    pod = template["spec"]
    mount = {"name": containers.TOKEN_VOLUME, "mountPath": containers.TOKEN_PATH, "readOnly": True}
    token = {"sources": [{"serviceAccountToken": {"path": "token"}}]}
    first = pod["containers"][0]
    first["volumeMounts"] = [*first.get("volumeMounts", ()), mount]
    pod["volumes"] = [*pod.get("volumes", ()), {"name": containers.TOKEN_VOLUME, "projected": token}]
    return template


def _runtime_env(text: str) -> dict[str, Any]:
    """Ray's runtime environment; whole numbers are whole again, as they are in what Go sends."""
    try:
        found = json.loads(gojson.encode(goyaml.read(text)))
    except GoError as error:
        raise Unbuildable(f"failed to unmarshal RuntimeEnvYAML: {text}: {error}") from error
    return found or {}


def _resources(text: str) -> dict[str, float]:
    try:
        return msgspec.json.decode(text, type=dict[str, float]) if text else {}
    except msgspec.DecodeError as error:
        raise Unbuildable(f"spec.entrypointResources must be a JSON object of numbers: {error}") from error
