"""The shell command by which a submitter submits a Ray job and follows it; pure, and to the letter KubeRay's."""

import re
from collections.abc import Iterator
from typing import Final

import msgspec

from manta_common import gojson, goyaml
from manta_common.api.rayjob import RayJobSpec
from manta_common.gotext import GoError, quote
from manta_common.ray.cluster import Unbuildable

_SEMVER: Final = re.compile(r"v?([0-9]+)(?:\.([0-9]+))?(?:\.([0-9]+))?(-[0-9A-Za-z.-]+)?(?:\+[0-9A-Za-z.-]+)?\Z")
_METADATA_SINCE: Final = (2, 6, 0)
_PROBE: Final = (
    "import urllib.request; r=urllib.request.urlopen('{url}', timeout=10); exit(0 if b'success' in r.read() else 1)"
)


class Submission(msgspec.Struct, frozen=True, kw_only=True):
    """What is submitted where; `resumable` looks first whether it was submitted already, and follows the log."""

    spec: RayJobSpec
    job_id: str
    address: str
    health: str
    resumable: bool = True


def shell(*, login: bool) -> list[str]:
    """Return the command that runs the arguments."""
    return ["/bin/bash", "-cel" if login else "-ce", "--"]


def dashboard_address(url: str) -> str:
    """Return a dashboard's address with its scheme."""
    return url if url.startswith("http://") else f"http://{url}"


def arguments(submission: Submission) -> str:
    """Return the whole command: wait for Ray, submit, follow; Unbuildable when the spec does not allow it."""
    address, job_id = submission.address, submission.job_id
    wait = (
        f'until python -c "{_PROBE.format(url=submission.health)}" >/dev/null 2>&1 ; '
        f'do echo "Waiting for Ray Dashboard GCS to become healthy at {address} ..." ; sleep 2 ; done ;'
    )
    tail = " ".join(["", *_flags(submission), "--", submission.spec.entrypoint.strip()])
    if not submission.resumable:
        return f"{wait} ray job submit --address {address}{tail} ;"
    return (
        f"{wait} if ! ray job status --address {address} {job_id} >/dev/null 2>&1 ; "
        f"then ray job submit --address {address} --no-wait{tail} ; fi ; "
        f"ray job logs --address {address} --follow {job_id}"
    )


def _flags(submission: Submission) -> Iterator[str]:
    spec = submission.spec
    if spec.runtime_env_yaml:
        yield f"--runtime-env-json {quote(_runtime_env(spec.runtime_env_yaml))}"
    if spec.metadata:
        _require_metadata(spec)
        yield f"--metadata-json {quote(gojson.encode(spec.metadata))}"
    if submission.job_id:
        yield f"--submission-id {submission.job_id}"
    if spec.entrypoint_num_cpus > 0:
        yield f"--entrypoint-num-cpus {spec.entrypoint_num_cpus:f}"
    if spec.entrypoint_num_gpus > 0:
        yield f"--entrypoint-num-gpus {spec.entrypoint_num_gpus:f}"
    if spec.entrypoint_resources:
        yield f"--entrypoint-resources {quote(spec.entrypoint_resources)}"


def _runtime_env(text: str) -> str:
    try:
        return gojson.encode(goyaml.read(text))
    except GoError as error:
        raise Unbuildable(f"failed to read runtimeEnvYAML: {error}") from error


def _require_metadata(spec: RayJobSpec) -> None:
    """Unbuildable when the Ray version is known not to take metadata."""
    version = spec.ray_cluster_spec.ray_version if spec.ray_cluster_spec else ""
    if not version:
        return
    match = _SEMVER.match(version)
    if not match:
        raise Unbuildable(f"failed to parse Ray version: {version}: invalid semantic version")
    numbers = tuple(int(part or 0) for part in match.group(1, 2, 3))
    if numbers < _METADATA_SINCE or match[4]:
        raise Unbuildable("the Ray version must be at least 2.6.0 to use the metadata field")
