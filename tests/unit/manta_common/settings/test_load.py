"""Settings come from environment and file, typed and checked; all that is wrong is told at once."""

import enum
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import msgspec
import pytest

from manta_common.api.gates import Gates
from manta_common.config import Address, Secret, between, changed, kuberay, load, shown
from manta_common.config import Config as Shared
from manta_common.errors import Misconfigured


class Colour(enum.Enum):
    """A choice."""

    RED = "red"
    BLUE = "blue"


class Limits(msgspec.Struct, forbid_unknown_fields=True):
    """A setting with structure."""

    cpu: int
    memory: str = ""


class Config(Shared, frozen=True, kw_only=True):
    """A service's settings with one of each type."""

    SERVICE: ClassVar[str] = "cluster-reconciler"

    flag: bool = False
    count: Annotated[int, msgspec.Meta(ge=1, le=9)] = 5
    ratio: Annotated[float, msgspec.Meta(gt=0, lt=1)] = 0.5
    colour: Colour = Colour.RED
    mode: Literal["slow", "fast"] = "slow"
    names: tuple[str, ...] = ("a",)
    sizes: tuple[int, ...] = ()
    every: Annotated[timedelta, msgspec.Meta(extra=between("1s", "1m"))] = timedelta(seconds=10)
    password: Secret = Secret()
    limits: Limits | None = None
    labels: dict[str, str] = msgspec.field(default_factory=dict)


def own(**values: str) -> dict[str, str]:
    return {f"MANTA_CLUSTER_RECONCILER_{name.upper()}": value for name, value in values.items()}


def written(folder: Path, text: str, name: str = "manta.yaml") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def problems(environment: Mapping[str, str], file: Path | None = None) -> list[str]:
    with pytest.raises(Misconfigured) as raised:
        load(Config, environment, file)
    return str(raised.value).splitlines()


def test_without_anything_everything_is_at_its_default() -> None:
    assert load(Config, {"PATH": "/bin", "MANTA_TEST_NATS": "x"}) == Config()
    assert changed(Config()) == {}


@pytest.mark.parametrize(
    ("field", "text", "value"),
    [
        pytest.param("flag", "true", True, id="a flag"),
        pytest.param("flag", "TRUE", True, id="a flag in capitals"),
        pytest.param("flag", "0", False, id="a flag as a digit"),
        pytest.param("count", " 9 ", 9, id="a number with blanks around"),
        pytest.param("ratio", "0.25", 0.25, id="a fraction"),
        pytest.param("colour", "blue", Colour.BLUE, id="an enumeration"),
        pytest.param("mode", "FAST", "fast", id="a choice in capitals"),
        pytest.param("names", "a, b ,,c", ("a", "b", "c"), id="a list with blanks and gaps"),
        pytest.param("sizes", "1,2", (1, 2), id="a list of numbers"),
        pytest.param("every", "1m", timedelta(minutes=1), id="a duration"),
        pytest.param("password", "hunter2", Secret("hunter2"), id="a secret"),
        pytest.param("limits", '{"cpu": 1}', Limits(1), id="structure as json"),
        pytest.param("limits", "cpu: 1", Limits(1), id="structure as yaml"),
        pytest.param("labels", "{a: b}", {"a": "b"}, id="a mapping"),
        pytest.param("kubeconfig", "/a b", "/a b", id="a text stays as it is"),
        pytest.param("http_address", "[::1]:80", Address("::1", 80), id="an address"),
        pytest.param("feature_gates", "RayCronJob=true", Gates(cron_job=True), id="feature gates"),
        pytest.param("mode", "", "slow", id="an empty variable counts as not set"),
    ],
)
def test_a_variable_becomes_a_value_of_its_type(field: str, text: str, value: Any) -> None:
    assert getattr(load(Config, own(**{field: text})), field) == value


@pytest.mark.parametrize(
    ("field", "text", "expected"),
    [
        pytest.param("flag", "maybe", "true or false", id="no flag"),
        pytest.param("count", "ten", "a whole number from 1 to 9", id="no number"),
        pytest.param("count", "10", "a whole number from 1 to 9", id="too large a number"),
        pytest.param("count", "1.5", "a whole number from 1 to 9", id="no whole number"),
        pytest.param("ratio", "1", "a number above 0 below 1", id="a limit that is not included"),
        pytest.param("ratio", "nan", "a number above 0 below 1", id="not a number at all"),
        pytest.param("colour", "green", "one of red, blue", id="no such member"),
        pytest.param("mode", "medium", "one of fast, slow", id="no such choice"),
        pytest.param("sizes", "1,x", "a list, separated by commas, of a whole number", id="a wrong item"),
        pytest.param("every", "soon", "a duration such as 30s, 5m or 1h30m, from 1s to 1m", id="no duration"),
        pytest.param("every", "2m", "a duration such as 30s, 5m or 1h30m, from 1s to 1m", id="too long"),
        pytest.param("limits", "{cpu: x}", "JSON or YAML (Expected `int`", id="structure with a wrong value"),
        pytest.param("limits", "{cpu", "JSON or YAML", id="structure that cannot be parsed"),
        pytest.param("http_address", "8080", "an address such as :8080 or 127.0.0.1:8080", id="no address"),
        pytest.param("feature_gates", "RayCron=true", "did you mean 'RayCronJob'?", id="no such gate"),
        pytest.param("nats_urls", "http://u:p@nats", "URLs such as nats://nats:4222", id="no such scheme"),
        pytest.param("watch_namespaces", "A_b", "a list, separated by commas, of namespaces", id="no namespace"),
    ],
)
def test_a_wrong_value_is_told_with_what_is_expected(field: str, text: str, expected: str) -> None:
    [line] = problems(own(**{field: text}))
    assert line.startswith(f"MANTA_CLUSTER_RECONCILER_{field.upper()} is ")
    assert expected in line
    assert "u:p" not in line


def test_a_long_value_is_cut() -> None:
    [line] = problems(own(count="9" * 5000))
    assert len(line) < 250


def test_every_problem_is_told_at_once(tmp_path: Path) -> None:
    file = written(tmp_path, "partition: 8\nclusterReconciler: {count: 99, colour: red}\n")
    environment = {**own(flag="maybe"), "MANTA_LOG_LEVEL": "loud", "MANTA_CLUSTER_RECONCILR_COUNT": "1"}
    assert problems(environment, file) == [
        "MANTA_CLUSTER_RECONCILR_COUNT is no setting of Manta; did you mean MANTA_CLUSTER_RECONCILER_COUNT?",
        f"{file}: partition is no setting of Manta; did you mean partitions?",
        "MANTA_LOG_LEVEL is 'loud'; expected one of debug, error, info, warning",
        "MANTA_CLUSTER_RECONCILER_FLAG is 'maybe'; expected true or false",
        f"{file}: clusterReconciler.count is '99'; expected a whole number from 1 to 9",
    ]


@pytest.mark.parametrize(
    ("environment", "text", "count", "level"),
    [
        pytest.param({}, "logLevel: error", 5, "error", id="the file"),
        pytest.param({}, "{logLevel: error, clusterReconciler: {logLevel: debug}}", 5, "debug", id="its own section"),
        pytest.param({}, "clusterReconciler: {count: 2}", 2, "info", id="a setting of its own"),
        pytest.param({"MANTA_LOG_LEVEL": "warning"}, "logLevel: error", 5, "warning", id="a variable wins over a file"),
        pytest.param(
            {"MANTA_LOG_LEVEL": "warning"},
            "clusterReconciler: {logLevel: debug}",
            5,
            "warning",
            id="a variable for all wins over its own section",
        ),
        pytest.param(
            {"MANTA_LOG_LEVEL": "warning", "MANTA_CLUSTER_RECONCILER_LOG_LEVEL": "error"},
            "",
            5,
            "error",
            id="its own variable wins over that for all",
        ),
        pytest.param({"MANTA_JANITOR_LOG_LEVEL": "?"}, "janitor: {x: y}", 5, "info", id="others' are theirs"),
        pytest.param({}, "logLevel:\nclusterReconciler:\n", 5, "info", id="nothing after a name counts as not set"),
    ],
)
def test_the_nearest_word_counts(
    tmp_path: Path, environment: dict[str, str], text: str, count: int, level: str
) -> None:
    made = load(Config, environment, written(tmp_path, text))
    assert (made.count, made.log_level) == (count, level)


def test_the_file_may_be_named_by_a_variable_and_be_json(tmp_path: Path) -> None:
    file = written(tmp_path, '{\n\t"partitions": 8\n}', "manta.json")
    assert load(Config, {"MANTA_CONFIG": str(file)}).partitions == 8


def test_a_file_has_lists_and_mappings_of_its_own(tmp_path: Path) -> None:
    text = """
watchNamespaces: [a, b]
featureGates: {RayCronJob: true}
drainLimit: 5
clusterReconciler:
  limits: {cpu: 2}
  names: x,y
"""
    made = load(Config, {}, written(tmp_path, text))
    assert made.watch_namespaces == ("a", "b")
    assert made.feature_gates == Gates(cron_job=True)
    assert made.drain_limit == timedelta(seconds=5)
    assert made.limits == Limits(2)
    assert made.names == ("x", "y")


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        pytest.param("partitions: true", "partitions is 'true'; expected a whole number", id="a flag for a number"),
        pytest.param("drainLimit: [1]", "drainLimit is '1'; expected a duration", id="a list for a duration"),
        pytest.param(
            "clusterReconciler: {password: 12345}", "password is set (not shown: secret)", id="a number for a secret"
        ),
        pytest.param("featureGates: {RayCron: true}", "did you mean 'RayCronJob'?", id="no such gate"),
        pytest.param("- a", "expected names with their values", id="a list"),
        pytest.param("clusterReconciler: 5", "clusterReconciler: expected names with", id="a number for a section"),
        pytest.param("a: b: hunter2", "is not YAML: look at line 1, column 5", id="no yaml"),
        pytest.param("1: 2", "1 is no setting of Manta", id="a name that is no text"),
    ],
)
def test_a_wrong_file_is_told(tmp_path: Path, text: str, complaint: str) -> None:
    file = written(tmp_path, text)
    [line] = problems({}, file)
    assert line.startswith(f"{file}: ")
    assert complaint in line
    assert "hunter2" not in line
    assert "12345" not in line


def test_a_file_that_cannot_be_read_does_not_hide_the_other_problems(tmp_path: Path) -> None:
    missing = tmp_path / "missing.json"
    first, second = problems({"MANTA_CONFIG": str(missing), "MANTA_PARTITIONS": "0"})
    assert first == f"{missing}: cannot be read: No such file or directory"
    assert second.startswith("MANTA_PARTITIONS is '0'")


def test_what_is_wrong_with_settings_as_a_whole_is_told() -> None:
    assert problems({"MANTA_NATS_URLS": ",", "MANTA_KUBE_QPS": "5"}) == [
        "MANTA_NATS_URLS is empty; expected at least one URL such as nats://nats:4222"
    ]


def test_secrets_are_never_shown(tmp_path: Path) -> None:
    environment = {**own(password="hunter2"), "MANTA_NATS_URLS": "nats://me:hunter2@nats"}
    made = load(Config, environment)
    assert made.password.reveal() == "hunter2"
    assert "hunter2" not in f"{made} {made!r} {shown(made)} {changed(made)}"
    assert changed(made) == {"password": "***", "nats_urls": "nats://***@nats"}
    unknown = problems({"MANTA_PASSWORD": "hunter2"})
    assert "hunter2" not in "".join(unknown)


def test_two_schedulers_for_the_same_pods_are_refused() -> None:
    gate = {"MANTA_FEATURE_GATES": "KubernetesWAS=true"}
    assert load(Config, gate).feature_gates.workload_scheduling
    assert problems(gate | {"MANTA_BATCH_SCHEDULER": "volcano"}) == [
        "MANTA_BATCH_SCHEDULER is 'volcano' and the feature gate KubernetesWAS is on; expected one of them at most"
    ]


class TakenOver(Shared, frozen=True, kw_only=True):
    """Settings that KubeRay's operator has too."""

    SERVICE: ClassVar[str] = "cluster-reconciler"

    probes: Annotated[bool, kuberay("ENABLE_PROBES_INJECTION", "On unless it is false.")] = True
    shell: Annotated[bool, kuberay("ENABLE_LOGIN_SHELL", "Off unless it is true.")] = False
    seconds: Annotated[int, kuberay("RAYJOB_STATUS_CHECK_TIMEOUT_SECONDS", "As many.")] = 300


@pytest.mark.parametrize(
    ("text", "probes", "shell"),
    [
        pytest.param("true", True, True, id="true"),
        pytest.param("FALSE", False, False, id="false in capitals"),
        pytest.param("True", True, True, id="true with a capital"),
        pytest.param("0", True, False, id="a digit"),
        pytest.param("no", True, False, id="a word that is neither"),
        pytest.param(" false", True, False, id="a blank before it"),
    ],
)
def test_a_switch_of_kuberay_means_what_it_means_there(text: str, probes: bool, shell: bool) -> None:
    found = load(TakenOver, {"ENABLE_PROBES_INJECTION": text, "ENABLE_LOGIN_SHELL": text})
    assert (found.probes, found.shell) == (probes, shell)


@pytest.mark.parametrize(("text", "seconds"), [("5", 5), ("-1", -1), ("5m", 300), ("1.5", 300), (" 5", 300)])
def test_a_number_of_kuberay_that_cannot_be_read_is_as_good_as_none(text: str, seconds: int) -> None:
    assert load(TakenOver, {"RAYJOB_STATUS_CHECK_TIMEOUT_SECONDS": text}).seconds == seconds
