"""One pass of an incremental upgrade: which way it goes, what moves, and what Serve and the Gateway are told."""

from typing import Any

import msgspec
import pytest

from manta_common.api.rayservice import AppStatus, RayServiceStatus, RayServiceStatuses
from manta_serve_reconciler.actions import CreateService, MoveService, PutObject, Submit, UpdateCluster, WriteStatus
from manta_serve_reconciler.conditions import find
from manta_serve_reconciler.decide import decide
from manta_serve_reconciler.observed import Observed, Role, ServeSettings, Side, Submitted
from manta_serve_reconciler.policies import incremental, routes
from manta_serve_reconciler.policies.applications import NOTHING, Served
from manta_serve_reconciler.policies.incremental import LOOK, LOOK_SELDOM, Moves
from tests.examples import manifests as examples
from tests.examples.example import Json, merged
from tests.unit.manta_serve_reconciler import made

OPTIONS: Json = {"maxSurgePercent": 50, "stepSizePercent": 25, "intervalSeconds": 5, "gatewayClassName": "some"}
SPEC: Json = {
    "upgradeStrategy": {"type": "NewClusterWithIncrementalUpgrade", "clusterUpgradeOptions": OPTIONS},
    "rayClusterConfig": {"enableInTreeAutoscaling": True},
}
BUSY = (made.condition("Ready", "True"), made.condition("UpgradeInProgress", "True"))
BACK = made.condition("RollbackInProgress", "True", "DesiredClusterSpecChanged", "because")
RUNS = Served(ready=True)
TRUE = {"status": "True"}
GATEWAY: Json = {"status": {"conditions": [{"type": each, **TRUE} for each in ("Accepted", "Programmed")]}}
TAKEN: Json = {
    "status": {
        "parents": [
            {
                "parentRef": {"name": "demo-gateway"},
                "conditions": [{"type": each, **TRUE} for each in ("Accepted", "ResolvedRefs")],
            }
        ]
    }
}
Numbers = tuple[int, int]  # capacity and traffic


def spec(version: str) -> Json:
    """A spec that differs from others by this."""
    found: Json = merged(SPEC, {"rayClusterConfig": {"rayVersion": version}})
    return found


OLD, NEW, THIRD = spec("2.56.0"), spec("2.57.0"), spec("2.58.0")


def share(name: str, numbers: Numbers) -> RayServiceStatus:
    return RayServiceStatus(
        ray_cluster_name=name,
        target_capacity=numbers[0],
        traffic_routed_percent=numbers[1],
        last_traffic_migrated_time=made.ago(60),
    )


def upgrade(old: Numbers = (100, 100), new: Numbers = (0, 0), *, goal: Json = NEW, **parts: Any) -> Observed:
    """An upgrade in which everything answers, and the Gateway has been taken up."""
    conditions = parts.pop("conditions", BUSY)
    service = made.service(goal, status=RayServiceStatuses(conditions=conditions), meta=parts.pop("meta", None))
    sides: dict[Role, Side] = {}
    given: list[tuple[Role, str, Numbers, Json]] = [("active", "old", old, OLD), ("pending", "new", new, NEW)]
    for role, name, numbers, of in given:
        report = made.report(of=name, target_capacity=numbers[0])
        known = {"cluster": made.cluster(name, made.service(of)), "report": report, "servers": 1}
        sides[role] = made.side(role, name, **({"status": share(name, numbers)} | known | parts.pop(role, {})))
    weights = list(zip(sides.values(), (old[1], new[1]), strict=True))
    route = {**routes.http_route(service, weights), **TAKEN}
    route["metadata"]["resourceVersion"] = "11"
    gateway = {**routes.gateway(service), **GATEWAY}
    gateway["metadata"]["resourceVersion"] = "12"
    common: Json = {
        "services": {
            **made.services("old"),
            **{name: made.kube_service(name, "x") for name in ("old-serve-svc", "new-serve-svc")},
        },
        "endpoints": {"old-serve-svc": 1, "new-serve-svc": 1},
        "gateway": gateway,
        "route": route,
    }
    return made.observed(service, active=sides["active"], pending=sides["pending"], **(common | parts))


def moved(found: Observed, *, active: Served = RUNS, pending: Served = RUNS) -> Moves:
    return incremental.moves(found, active=active, pending=pending, now=made.NOW)


def numbers(status: RayServiceStatuses) -> tuple[int | None, ...]:
    """Capacity and traffic of the old cluster, then of the new one."""
    sides = (status.active_service_status, status.pending_service_status)
    return tuple(each for side in sides for each in (side.target_capacity, side.traffic_routed_percent))


def weights(moves: Moves) -> list[int] | None:
    """The weights that the route is given; None when it is left alone."""
    put = [each for phase in moves.phases for each in phase if isinstance(each, PutObject)]
    return [one["weight"] for one in put[0].manifest["spec"]["rules"][0]["backendRefs"]] if put else None


def told(moves: Moves) -> list[tuple[str, int | None]]:
    """The clusters whose capacity is set, and to what."""
    found = (each for phase in moves.phases for each in phase if isinstance(each, Submit))
    return [(each.cluster, each.capacity) for each in found]


STATES = [
    pytest.param((100, 100), (0, 0), (100, 75, 50, 25), [("new", 50)], id="the new one grows, and traffic follows"),
    pytest.param((100, 75), (50, 25), (100, 50, 50, 50), [], id="traffic alone"),
    pytest.param((100, 50), (50, 50), (50, 50, 50, 50), [("old", 50)], id="the old one shrinks"),
    pytest.param((50, 50), (50, 50), (50, 25, 100, 75), [("new", 100)], id="the new one grows again"),
    pytest.param((50, 0), (100, 100), (0, 0, 100, 100), [("old", 0)], id="the old one has nothing left"),
]


@pytest.mark.parametrize(("old", "new", "after", "capacities"), STATES)
def test_a_step(old: Numbers, new: Numbers, after: tuple[int, ...], capacities: list[tuple[str, int]]) -> None:
    # A Serve that does not tell its capacity is believed to have what it was told.
    moves = moved(upgrade(old, new, pending={"report": made.report(of="new", target_capacity=None)}))
    assert numbers(moves.status) == after
    assert told(moves) == capacities
    assert weights(moves) == (None if (after[1], after[3]) == (old[1], new[1]) else [after[1], after[3]])
    assert moves.promotes is (after == (0, 0, 100, 100))
    assert moves.due == made.NOW + LOOK


def without(**report: Any) -> Json:
    return {"report": made.report(of="new", **report)}


@pytest.mark.parametrize(
    ("parts", "pending"),
    [
        pytest.param({}, NOTHING, id="an application does not run"),
        pytest.param({"pending": without(target_capacity=25)}, RUNS, id="Serve does not run with its capacity yet"),
        pytest.param({"pending": without(trouble=made.trouble())}, RUNS, id="the dashboard does not answer"),
        pytest.param({"endpoints": {"old-serve-svc": 1}}, RUNS, id="nobody answers behind its Service"),
    ],
)
def test_traffic_waits(parts: Json, pending: Served) -> None:
    moves = moved(upgrade((100, 100), (50, 0), **parts), pending=pending)
    assert numbers(moves.status) == (100, 100, 50, 0)
    assert weights(moves) is None
    assert told(moves) in ([], [("new", 50)])  # at most what it was told already


@pytest.mark.parametrize(
    "parts",
    [
        pytest.param({"gateway": None, "route": None}, id="no Gateway"),
        pytest.param({"route": None}, id="no route"),
        pytest.param({"conditions": (made.condition("Ready", "True"),)}, id="not upgrading as far as is written"),
    ],
)
def test_capacity_waits_for_the_roads(parts: Json) -> None:
    moves = moved(upgrade(**parts))
    assert told(moves) == []
    assert moves.status.pending_service_status.target_capacity == 0


def test_a_gateway_that_nobody_takes_up_holds_capacity_up_and_no_more() -> None:
    found = upgrade((100, 100), (50, 25))
    idle = msgspec.structs.replace(found, gateway=routes.gateway(found.service) | {"status": {}})
    idle.gateway["metadata"]["resourceVersion"] = "12"  # type: ignore[index]
    assert numbers(moved(idle).status) == (100, 50, 50, 50)  # traffic that there is capacity for
    assert numbers(moved(msgspec.structs.replace(idle, **_shares(idle, (100, 50), (50, 50)))).status)[0] == 100


def _shares(found: Observed, old: Numbers, new: Numbers) -> Json:
    after = msgspec.structs.replace(
        found.status, active_service_status=share("old", old), pending_service_status=share("new", new)
    )
    again = found.after(after)
    return {"service": again.service, "active": again.active, "pending": again.pending}


def test_a_serve_that_forgot_its_capacity_is_reminded_once_in_a_while() -> None:
    forgot = {"report": made.report(of="new", target_capacity=100)}
    assert told(moved(upgrade((100, 75), (50, 25), pending=forgot))) == [("new", 50)]
    just = forgot | {"submitted": Submitted(config=made.CONFIG, at=made.ago(60), scaled_at=made.ago(1))}
    assert told(moved(upgrade((100, 75), (50, 25), pending=just))) == []


@pytest.mark.parametrize(
    ("goal", "conditions", "says"),
    [
        pytest.param(NEW, BUSY, None, id="on"),
        pytest.param(OLD, BUSY, "Goal state reverted to original cluster, rolling back.", id="back"),
        pytest.param(THIRD, BUSY, "Goal state changed mid-upgrade, rolling back to original cluster.", id="elsewhere"),
        pytest.param(OLD, (*BUSY, BACK), "because", id="already on the way back"),
        pytest.param(NEW, (*BUSY, BACK), None, id="on after all"),
        pytest.param(OLD, BUSY[:1], None, id="no upgrade runs"),
    ],
)
def test_which_way(goal: Json, conditions: Any, says: str | None) -> None:
    found, _ = incremental.turned(upgrade(goal=goal, conditions=conditions), ServeSettings(), made.NOW)
    back = find(found.status, "RollbackInProgress")
    assert (back.message if back else None) == says


def written(found: Observed) -> RayServiceStatuses:
    """The status that a whole pass writes."""
    actions = (action for phase in decide(found, ServeSettings(), made.NOW) for action in phase)
    return next(action.status for action in actions if isinstance(action, WriteStatus))


def test_one_more_group_at_the_end_changes_the_new_cluster_in_place_and_the_upgrade_goes_on() -> None:
    groups = [examples.GROUP, {**examples.GROUP, "groupName": "large"}]
    found = upgrade((100, 100), (50, 25), goal=merged(NEW, {"rayClusterConfig": {"workerGroupSpecs": groups}}))
    assert (UpdateCluster("new", "pending"),) in decide(found, ServeSettings(), made.NOW)
    status = written(found)
    assert find(status, "RollbackInProgress") is None
    assert numbers(status) == (100, 50, 50, 50)


def test_both_clusters_count_in_the_pass_that_ends_the_upgrade() -> None:
    found = upgrade((50, 0), (100, 100), endpoints={"old-serve-svc": 0, "new-serve-svc": 2})
    status = written(found)
    assert status.active_service_status.ray_cluster_name == "new"
    assert status.num_serve_endpoints == 2


def test_a_cluster_that_a_rollback_has_let_go_of_counts_no_more() -> None:
    done = upgrade((100, 100), (0, 0), goal=THIRD, conditions=(*BUSY, BACK))
    status = written(done)
    assert status.pending_service_status.ray_cluster_name not in {"", "new"}
    assert status.num_serve_endpoints == 1


def untold(numbers: Numbers) -> RayServiceStatus:
    """The part of a cluster that served before traffic moved step by step: nobody has said its capacity."""
    return msgspec.structs.replace(share("old", numbers), target_capacity=None)


def test_a_cluster_that_served_before_traffic_moved_step_by_step_has_all_its_capacity() -> None:
    found = upgrade(new=(50, 0), active={"status": untold((100, 100))})
    assert numbers(moved(found).status)[0] == 100


def test_a_rollback_to_such_a_cluster_comes_to_its_end() -> None:
    found = upgrade(new=(0, 0), goal=OLD, conditions=(*BUSY, BACK), active={"status": untold((100, 100))})
    status = written(found)
    assert status.pending_service_status.ray_cluster_name == ""
    assert find(status, "RollbackInProgress") is None


def test_a_deadline_turns_it_round_and_says_why() -> None:
    failed = {"one": AppStatus(status="DEPLOY_FAILED", message="no module named app")}
    found = upgrade((100, 100), (50, 0), meta={"annotations": {"ray.io/upgrade-timeout": "30s"}})
    said = msgspec.structs.replace(found.status.pending_service_status, application_statuses=failed)
    status = msgspec.structs.replace(found.status, pending_service_status=said)
    turned, _ = incremental.turned(found.after(status), ServeSettings(), made.NOW)
    why = find(turned.status, "UpgradeFailed")
    assert why
    assert (why.status, why.reason) == ("True", "UpgradeDeadlineExceeded")
    assert why.message == (
        "cluster new is given up, traffic goes back to old: application one is DEPLOY_FAILED: no module named app"
    )
    assert find(turned.status, "RollbackInProgress")


def test_without_the_old_cluster_nobody_can_go_back() -> None:
    found = upgrade(goal=OLD)
    gone = msgspec.structs.replace(found, active=msgspec.structs.replace(found.active, cluster=None))
    after, events = incremental.turned(gone, ServeSettings(), made.NOW)
    assert find(after.status, "RollbackInProgress") is None
    assert [each.reason for each in events] == ["RollbackImpossible"]


@pytest.mark.parametrize(
    ("old", "new", "after", "capacities"),
    [
        pytest.param((50, 50), (50, 50), (100, 75, 50, 25), [("old", 100)], id="the old one grows"),
        pytest.param((100, 75), (50, 25), (100, 100, 50, 0), [], id="traffic alone"),
        pytest.param((100, 100), (50, 0), (100, 100, 0, 0), [("new", 0)], id="the new one shrinks"),
        pytest.param((100, 100), (0, 0), (100, 100, 0, 0), [], id="all is back"),
    ],
)
def test_a_step_back(old: Numbers, new: Numbers, after: tuple[int, ...], capacities: list[tuple[str, int]]) -> None:
    moves = moved(upgrade(old, new, goal=OLD, conditions=(*BUSY, BACK)), pending=NOTHING)
    assert numbers(moves.status) == after
    assert told(moves) == capacities
    assert not moves.promotes


@pytest.mark.parametrize(
    ("old", "new", "parts", "done"),
    [
        pytest.param((100, 100), (0, 0), {}, True, id="everything is back"),
        pytest.param((100, 75), (50, 25), {}, False, id="traffic is not"),
        pytest.param((100, 100), (50, 0), {}, False, id="the new one has capacity"),
        pytest.param((100, 100), (50, 0), {"cluster": made.cluster("new", ready=False)}, True, id="its head is gone"),
    ],
)
def test_the_end_of_a_rollback(old: Numbers, new: Numbers, parts: Json, done: bool) -> None:
    found = upgrade(old, new, goal=OLD, conditions=(*BUSY, BACK), pending=parts)
    after = incremental.completed(found, made.NOW)
    assert (find(after.status, "RollbackInProgress") is None) is done
    assert (after.pending.name == "") is done


def test_the_first_cluster_is_promoted_with_a_service_of_its_own() -> None:
    pending = made.side(
        "pending", "new", status=RayServiceStatus(ray_cluster_name="new", target_capacity=100),
        cluster=made.cluster("new", made.service(NEW)), report=made.report(), servers=1,
    )  # fmt: skip
    moves = moved(made.observed(made.service(NEW), pending=pending), active=NOTHING)
    made_now = [each for phase in moves.phases for each in phase]
    assert made_now == [
        CreateService("cluster", "new-serve-svc", "new"),
        CreateService("head", "demo-head-svc", "new"),
    ]
    assert moves.promotes
    assert [type(each).__name__ for each in moves.then] == ["PutObject"]  # the Gateway: it may fail


def test_the_head_service_follows_after_a_promotion() -> None:
    found = upgrade((100, 100), (0, 0))
    alone = made.observed(
        found.service,
        active=msgspec.structs.replace(found.pending, role="active", status=share("new", (100, 100))),
        services=found.services,
        gateway=found.gateway,
        route=found.route,
    )
    moves = moved(alone, pending=NOTHING)
    assert MoveService("head", "demo-head-svc", "new", "5") in [each for phase in moves.phases for each in phase]
    assert weights(moves) == [100]


def test_roads_that_are_as_they_should_be_are_looked_at_seldom() -> None:
    found = upgrade((100, 100), (0, 0), conditions=(made.condition("Ready", "True"),))
    service = made.service(OLD, status=RayServiceStatuses(conditions=(made.condition("Ready", "True"),)))
    route = {**routes.http_route(service, [(found.active, 100)]), **TAKEN}
    alone = made.observed(
        service,
        active=found.active,
        services={**made.services("old"), "old-serve-svc": made.kube_service("old-serve-svc", "x")},
        gateway=found.gateway,
        route=route,
    )
    moves = moved(alone, pending=NOTHING)
    assert [each for phase in moves.phases for each in phase] == []
    assert moves.then == ()
    assert moves.due == made.NOW + LOOK_SELDOM
