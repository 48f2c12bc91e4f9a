"""The submitter's command, flag by flag."""

from typing import Any

import pytest

from manta_common.ray.cluster import Unbuildable
from manta_job_reconciler.command_line import Submission, arguments, dashboard_address, shell
from tests.unit.manta_job_reconciler.made import SPEC, job

WAIT = (
    "until python -c \"import urllib.request; r=urllib.request.urlopen('http://h:1/ok', timeout=10); "
    "exit(0 if b'success' in r.read() else 1)\" >/dev/null 2>&1 ; "
    'do echo "Waiting for Ray Dashboard GCS to become healthy at http://h:1 ..." ; sleep 2 ; done ; '
)


def submission(*, resumable: bool = True, **spec: Any) -> Submission:
    about = job("K8sJobMode", **spec)
    return Submission(spec=about.spec, job_id="id", address="http://h:1", health="http://h:1/ok", resumable=resumable)


def flags(**spec: Any) -> str:
    line = arguments(submission(**spec))
    return line.split("--no-wait ")[1].split(" -- ")[0]


def test_a_submitter_waits_submits_once_and_follows() -> None:
    assert arguments(submission(entrypoint="  python a.py --x 'y z' \n")) == (
        f"{WAIT}if ! ray job status --address http://h:1 id >/dev/null 2>&1 ; "
        "then ray job submit --address http://h:1 --no-wait --submission-id id -- python a.py --x 'y z' ; fi ; "
        "ray job logs --address http://h:1 --follow id"
    )


def test_a_submitter_in_the_head_submits_and_stays() -> None:
    line = arguments(submission(resumable=False, entrypoint="run"))
    assert line == f"{WAIT}ray job submit --address http://h:1 --submission-id id -- run ;"


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        pytest.param({}, "--submission-id id", id="the id alone"),
        pytest.param(
            {"runtimeEnvYAML": "pip: [requests]\nenv_vars: {A: b}"},
            '--runtime-env-json "{\\"env_vars\\":{\\"A\\":\\"b\\"},\\"pip\\":[\\"requests\\"]}" --submission-id id',
            id="a runtime environment",
        ),
        pytest.param(
            {"metadata": {"b": "<x>", "a": "1"}},
            '--metadata-json "{\\"a\\":\\"1\\",\\"b\\":\\"\\\\u003cx\\\\u003e\\"}" --submission-id id',
            id="metadata",
        ),
        pytest.param(
            {"entrypointNumCpus": 1, "entrypointNumGpus": 0.5, "entrypointResources": '{"a": 1}'},
            "--submission-id id --entrypoint-num-cpus 1.000000 --entrypoint-num-gpus 0.500000 "
            '--entrypoint-resources "{\\"a\\": 1}"',
            id="resources",
        ),
    ],
)
def test_flags(spec: dict[str, Any], expected: str) -> None:
    assert flags(**spec) == expected


@pytest.mark.parametrize(
    ("version", "message"),
    [
        pytest.param("2.5.9", "the Ray version must be at least 2.6.0 to use the metadata field", id="too old"),
        pytest.param("3.0.0-dev", "the Ray version must be at least 2.6.0", id="not released"),
        pytest.param("nightly", "failed to parse Ray version", id="no version"),
    ],
)
def test_metadata_needs_a_ray_that_takes_it(version: str, message: str) -> None:
    with pytest.raises(Unbuildable, match=message):
        arguments(submission(metadata={"a": "b"}, rayClusterSpec=SPEC | {"rayVersion": version}))


@pytest.mark.parametrize("version", ["", "2.6", "v2.6.0", "2.52.0"])
def test_metadata_is_taken(version: str) -> None:
    assert "--metadata-json" in flags(metadata={"a": "b"}, rayClusterSpec=SPEC | {"rayVersion": version})


@pytest.mark.parametrize(("login", "option"), [(False, "-ce"), (True, "-cel")])
def test_shell(login: bool, option: str) -> None:
    assert shell(login=login) == ["/bin/bash", option, "--"]


@pytest.mark.parametrize("url", ["h:1", "http://h:1"])
def test_an_address_has_its_scheme_once(url: str) -> None:
    assert dashboard_address(url) == "http://h:1"
