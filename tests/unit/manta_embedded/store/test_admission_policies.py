"""Our admission policies in the store: every rule kept and broken, with the verdict that a real API server gives."""

from typing import Literal

import pytest

from manta_common.keys import Key
from manta_common.validation.admission.policy import PLURALS, documents
from manta_embedded.store.admission import Review
from manta_embedded.store.admission_policies import Policies
from manta_embedded.store.errors import StatusError
from manta_embedded.store.objects import Obj
from tests.examples import kinds, manifests
from tests.examples.example import Example
from tests.unit.manta_common.validation.policies import LEFT_OUT
from tests.unit.manta_embedded.store.schema.reviews import admitted, ray_kinds

EXAMPLES = [
    example
    for example in (*kinds.CLUSTERS, kinds.UNIQUE_GROUPS, *kinds.JOBS, *kinds.SERVICES, *kinds.CRON_JOBS)
    if example.rule not in LEFT_OUT
]


@pytest.fixture(scope="module")
def policies() -> Policies:
    written = [document for kind in PLURALS for document in documents(kind)]
    for document in written:
        if document["kind"] == "ValidatingAdmissionPolicy":
            document["spec"]["failurePolicy"] = "Fail"  # no doubt is let pass here
    return Policies(written)


def refusal(policies: Policies, new: Obj, old: Obj | None = None) -> str:
    """What the policies say to an object that its schema allows; nothing if they would take it."""
    served = ray_kinds()[(new["kind"], "v1")]
    before = None if old is None else admitted(served, old)
    operation: Literal["CREATE", "UPDATE"] = "CREATE" if old is None else "UPDATE"
    after = admitted(served, new, before)
    review = Review(operation=operation, served=served, key=Key("space", "demo"), new=after, old=before)
    try:
        policies.admit(review)
    except StatusError as error:
        return f"{error.code} {error.message}"
    return ""


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.says)
def test_an_object_that_keeps_the_rule_is_taken(policies: Policies, example: Example) -> None:
    assert refusal(policies, example.good) == ""


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.says)
def test_an_object_that_breaks_the_rule_is_refused(policies: Policies, example: Example) -> None:
    policy = f"manta-{PLURALS[example.bad['kind']]}"
    found = refusal(policies, example.bad)
    assert found.startswith(f'422 {PLURALS[example.bad["kind"]]}.ray.io "demo" is forbidden: ')
    assert found.endswith(
        f"ValidatingAdmissionPolicy '{policy}' with binding '{policy}' denied request: {example.message}"
    )


def test_an_object_from_before_may_change_its_metadata_but_not_its_spec(policies: Policies) -> None:
    old = manifests.cluster(manifests.worker(minReplicas=-1))
    labelled = {**old, "metadata": {**old["metadata"], "labels": {"a": "b"}}}
    assert refusal(policies, labelled, old) == ""
    changed = {**old, "spec": {**old["spec"], "suspend": True}}
    assert "negative minReplicas -1" in refusal(policies, changed, old)


def test_what_cannot_be_worked_out_is_let_pass_only_by_a_lenient_policy() -> None:
    strict = documents("RayCluster")
    strict[0]["spec"] |= {"matchConditions": [], "variables": [], "validations": [{"expression": "object.none > 1"}]}
    assert refusal(Policies(strict), manifests.cluster()) == ""
    strict[0]["spec"]["failurePolicy"] = "Fail"
    assert refusal(Policies(strict), manifests.cluster()).endswith(
        "denied request: expression 'object.none > 1' resulted in error: no such key: none"
    )
