"""Our types and the API server agree on what is an object of ours."""

from typing import Any

from hypothesis import HealthCheck, Phase, assume, given, settings

from manta_common.api.documents import without_nulls
from manta_common.crd.definitions import Kind
from manta_common.crd.rules import RULES
from tests.contract.crd.server import LEAST, created, is_readable, path, refusals
from tests.manifests.generated import any_manifest, odd_manifest
from tests.parts.cluster import ApiError, Cluster

MESSAGES = tuple(rule["message"] for rules in RULES.values() for rule in rules)
GENERATED = settings(
    max_examples=100,
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.generate],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
# The only thing that we read and the API server does not admit: objects made through v1alpha1 look like this.
TOLERATED = ("spec.rayClusterConfig", "Required value")


@GENERATED
@given(any_manifest())
def test_what_is_made_up_by_the_schema_is_admitted_and_read(
    cluster: Cluster, place: str, made_up: tuple[Kind, Any]
) -> None:
    kind, given = made_up
    del given["status"]
    assert is_readable(kind, given)
    assert is_readable(kind, created(cluster, place, given, dry=True))


@GENERATED
@given(odd_manifest())
def test_our_types_and_the_api_server_agree_on_specs(cluster: Cluster, place: str, odd: tuple[Kind, Any]) -> None:
    kind, given = odd
    del given["status"]
    answer = asked(cluster, "POST", f"{path(kind.name, place)}?dryRun=All", given)
    if isinstance(answer, ApiError):
        complaints = refusals(answer)
        assume(TOLERATED not in complaints)
        assume(not any(message.endswith(MESSAGES) for _, message in complaints))
    agreed(kind, given, answer)


@GENERATED
@given(odd_manifest())
def test_our_types_and_the_api_server_agree_on_statuses(cluster: Cluster, settled: str, odd: tuple[Kind, Any]) -> None:
    kind, given = odd
    patch = [{"op": "add", "path": "/status", "value": given["status"]}]
    answer = asked(cluster, "PATCH", f"{path(kind.name, settled, 'it', 'status')}?dryRun=All", patch)
    agreed(kind, given | {"spec": LEAST[kind.name]}, answer)


def asked(cluster: Cluster, method: str, where: str, body: Any) -> Any:
    """What the API server answers, be it a refusal."""
    form = "application/json" if method == "POST" else "application/json-patch+json"
    try:
        return cluster.request(method, where, body, form)
    except ApiError as error:
        return error


def agreed(kind: Kind, given: Any, answer: Any) -> None:
    """Insist that what was admitted can be read, and that what was refused cannot."""
    if isinstance(answer, ApiError):
        assert answer.code == 422, answer
        assert not is_readable(kind, without_nulls(given)), answer
    else:
        assert is_readable(kind, answer)
