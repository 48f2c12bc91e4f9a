"""A cluster that cannot be served is told why, in KubeRay's order and words; nothing else is done."""

import pytest

from manta_cluster_reconciler.observed import observed
from manta_cluster_reconciler.policies.refusals import refusal, warnings
from manta_cluster_reconciler.rules import Rules
from manta_common.api.gates import Gates
from manta_common.api.raycluster import RayCluster
from manta_common.ray.settings import RaySettings
from tests.examples import manifests
from tests.unit.manta_cluster_reconciler.scenes import RULES, cluster, scene, true

MTLS = Rules(ray=RaySettings(gates=Gates(mtls=True)))
BROKEN = manifests.head(template={"spec": {"containers": []}})


@pytest.mark.parametrize(
    ("of", "rules", "reason", "note"),
    [
        pytest.param(
            cluster(BROKEN, name="x" * 54),
            RULES,
            "InvalidRayClusterMetadata",
            f"The RayCluster metadata is invalid ns/{'x' * 54}: RayCluster name should be no more than 53 characters",
            id="the name comes first",
        ),
        pytest.param(
            cluster(BROKEN),
            RULES,
            "InvalidRayClusterSpec",
            "The RayCluster spec is invalid ns/demo: headGroupSpec should have at least one container",
            id="then the spec",
        ),
        pytest.param(
            cluster({"tlsOptions": {"enabled": True}}),
            MTLS,
            "InvalidRayClusterSpec",
            "The RayCluster spec is invalid ns/demo: tlsOptions requires cert-manager, but cert-manager is not "
            "installed",
            id="then cert-manager",
        ),
        pytest.param(
            cluster(manifests.worker(numOfHosts=2**31 - 1)),
            RULES,
            "InvalidRayClusterSpec",
            "The RayCluster spec is invalid ns/demo: worker group small has numOfHosts 2147483647, and a worker has at "
            "most 10000 Pods",
            id="then a worker that no memory could hold",
        ),
        pytest.param(
            cluster({"upgradeStrategy": {"type": "None"}}, labels={"ray.io/originated-from-crd": "RayJob"}),
            RULES,
            "InvalidRayClusterSpec",
            "The RayCluster UpgradeStrategy is invalid ns/demo: upgradeStrategy cannot be set when RayCluster is "
            "created by RayJob",
            id="then the upgrade",
        ),
        pytest.param(
            cluster(status=true("RayClusterSuspending", "RayClusterSuspended")),
            RULES,
            "InvalidRayClusterStatus",
            "The RayCluster status is invalid ns/demo, ",
            id="then the status",
        ),
    ],
)
def test_what_is_wrong_is_told(of: RayCluster, rules: Rules, reason: str, note: str) -> None:
    found = refusal(observed(of, (), ()), rules)
    assert found is not None
    assert found.reason == reason
    assert found.note.startswith(note)
    assert found.fix
    assert (found.notice.type, found.notice.action) == ("Warning", "Validate")


def test_a_cluster_without_fault_is_served() -> None:
    assert refusal(scene(cluster()), RULES) is None


def test_restarts_under_the_old_autoscaler_are_only_warned_of() -> None:
    restarting = manifests.worker(template={"spec": {"restartPolicy": "Always", "containers": [manifests.WORKER]}})
    of = cluster(restarting | {"enableInTreeAutoscaling": True, "autoscalerOptions": {"version": "v1"}})
    assert refusal(scene(of), RULES) is None
    [told] = warnings(scene(of), RULES)
    assert told.notice.note == (
        "RayCluster spec warning ns/demo: restartPolicy for worker groups [small] should be Never or unset when using "
        "autoscaler V1"
    )
    assert warnings(scene(cluster()), RULES) == []


def test_groups_of_one_name_are_warned_of_since_only_the_first_has_pods() -> None:
    of = cluster(manifests.workers({}, {}))
    assert refusal(scene(of), RULES) is None
    [told] = warnings(scene(of), RULES)
    assert told.notice.note == "RayCluster spec warning ns/demo: worker group names must be unique"
