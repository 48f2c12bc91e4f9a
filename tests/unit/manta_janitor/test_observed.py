"""What the janitor keeps of a RayJob."""

from typing import Any

import msgspec
import pytest

from manta_common.api import annotations
from manta_common.api.gates import Gates
from manta_common.api.rayjob import RayJob
from manta_common.validation.job import validate_job
from manta_janitor.observed import EndingJob, Heeded
from tests.examples import manifests


def kept(meta: dict[str, Any] | None = None, **condition: Any) -> EndingJob:
    """A job with a condition of ours."""
    said = {"type": "CleanupScheduled", "status": "True", "message": "it goes", "observedGeneration": 3, **condition}
    body = {
        "metadata": {"name": "j", "generation": 3, **(meta or {})},
        "status": {"conditions": [{"type": "Complete", "status": "True", "observedGeneration": 3}, said]},
    }
    return msgspec.json.decode(msgspec.json.encode(body), type=EndingJob)


@pytest.mark.parametrize(
    ("job", "expected"),
    [
        pytest.param(kept(), True, id="our condition speaks of this spec"),
        pytest.param(kept(observedGeneration=2), False, id="the spec was changed since"),
        pytest.param(kept(status="False"), False, id="that nothing goes is said of any job"),
        pytest.param(kept(type="Failed"), False, id="we have said nothing"),
        pytest.param(kept({"generation": 0}, observedGeneration=0, type="x"), False, id="nothing of nothing"),
        pytest.param(kept({"annotations": {"kubectl.kubernetes.io/x": "y"}}), True, id="with any annotation"),
        pytest.param(kept({"annotations": {annotations.FT_ENABLED: "false"}}), False, id="with one that may not fit"),
        pytest.param(
            kept({"annotations": {annotations.EXTERNAL_STORAGE_NAMESPACE: "x"}}), False, id="with another such one"
        ),
        pytest.param(kept({"deletionTimestamp": "2026-01-02T03:04:05Z"}), False, id="it goes already"),
    ],
)
def test_a_job_is_approved_when_it_was_read_and_found_valid_as_it_is(job: EndingJob, expected: bool) -> None:
    assert job.metadata.approved == expected


def test_of_conditions_and_metadata_next_to_nothing_is_kept() -> None:
    job = kept()
    assert (job.status.conditions, bool(job.status.announced)) == ((), True)
    assert job.metadata is kept().metadata


class Asked(dict[str, str]):
    """Annotations that remember what was looked for."""

    def __init__(self) -> None:
        super().__init__()
        self.names: set[str] = set()

    def get(self, name: str, default: Any = None) -> Any:
        self.names.add(name)
        return default

    def __getitem__(self, name: str) -> str:
        self.names.add(name)
        raise KeyError(name)

    def __contains__(self, name: object) -> bool:
        self.names.add(str(name))
        return False


def test_validation_looks_at_no_other_annotation_than_the_janitor_does() -> None:
    asked = Asked()
    for options in (None, {"redisAddress": "redis:6379"}):
        body = manifests.job({"rayClusterSpec": {"gcsFaultToleranceOptions": options} if options else {}})
        job = msgspec.json.decode(msgspec.json.encode(body), type=RayJob)
        meta = msgspec.structs.replace(job.metadata, annotations=asked)
        validate_job(msgspec.structs.replace(job, metadata=meta), Gates())
    assert asked.names == {field.encode_name for field in msgspec.structs.fields(Heeded)}
