"""What is decided about a RayService, in whole steps."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

import msgspec
import pytest

from manta_common.api.core import Service
from manta_common.api.gates import Gates
from manta_common.api.raycluster import RayCluster, RayClusterStatus
from manta_common.api.rayservice import AppStatus, RayServiceStatus, RayServiceStatuses
from manta_common.deeds import Recheck, Tell
from manta_common.phases import Phase
from manta_common.ray.settings import RaySettings
from manta_serve_reconciler.actions import (
    Action,
    AddFinalizer,
    CreateCluster,
    CreateService,
    DeleteCluster,
    DeleteService,
    LabelHead,
    MoveService,
    RemoveFinalizer,
    Submit,
    WriteStatus,
)
from manta_serve_reconciler.conditions import find
from manta_serve_reconciler.decide import decide
from manta_serve_reconciler.observed import Observed, ServeSettings, Submitted
from manta_serve_reconciler.policies import promotion
from tests.unit.manta_serve_reconciler import made

STEADY = RayServiceStatuses(
    conditions=(made.condition("Ready", "True"), made.condition("UpgradeInProgress", "False", "NoPendingCluster"))
)


def decided(found: Observed, now: datetime = made.NOW, **settings: Any) -> Sequence[Phase[Action]]:
    """The phases for what was found."""
    return decide(found, ServeSettings(**settings), now)


def names(found: Observed, now: datetime = made.NOW) -> list[list[str]]:
    """The kinds of actions, phase by phase."""
    return [[type(action).__name__ for action in phase] for phase in decided(found, now)]


def written(found: Observed, now: datetime = made.NOW, **settings: Any) -> RayServiceStatuses:
    """The status that is written."""
    actions = [action for phase in decided(found, now, **settings) for action in phase]
    return next(action.status for action in actions if isinstance(action, WriteStatus))


def test_a_new_service_gets_finalizer_name_and_cluster_in_one_pass() -> None:
    found = made.observed(made.service(meta={"finalizers": []}))
    assert names(found) == [["AddFinalizer"], ["WriteStatus"], ["CreateCluster"]]
    status = written(found)
    assert decided(found)[-1] == (CreateCluster(status.pending_service_status.ray_cluster_name),)
    assert [(each.type, each.status, each.reason) for each in status.conditions] == [
        ("Ready", "False", "Initializing"),
        ("UpgradeInProgress", "False", "Initializing"),
    ]


def test_the_first_cluster_that_is_ready_gets_services_and_serves_in_the_same_pass() -> None:
    pending = made.side("pending", "new", cluster=made.cluster("new"), report=made.report())
    found = made.observed(pending=pending)
    assert decided(found)[0] == (
        CreateService("head", "demo-head-svc", "new"),
        CreateService("serve", "demo-serve-svc", "new"),
    )
    status = written(found)
    assert status.active_service_status.ray_cluster_name == "new"
    assert status.active_service_status.application_statuses["one"].status == "RUNNING"
    assert status.pending_service_status == RayServiceStatus()


STARTING = RayServiceStatuses(
    conditions=(
        made.condition("Ready", "False", "Initializing"),
        made.condition("UpgradeInProgress", "False", "Initializing"),
    )
)


def starting(*, made_ago: float | None = None, meta: dict[str, Any] | None = None, **parts: Any) -> Observed:
    """A RayService whose first cluster is ready; its Services were made so many seconds ago, or not yet."""
    pending = made.side("pending", "new", cluster=made.cluster("new"), report=made.report())
    services = {} if made_ago is None else made.services("new", made_at=made.ago(made_ago))
    return made.observed(made.service(status=STARTING, meta=meta), pending=pending, services=services, **parts)


def test_that_the_first_cluster_serves_is_told_when_requests_reach_it() -> None:
    assert names(starting()) == [["CreateService", "CreateService"]], "one that is refused is tried later and later"
    for endpoints in ({}, {"demo-serve-svc": 0}):
        found = starting(made_ago=0.5, endpoints=endpoints)
        assert decided(found) == [(Recheck(made.ago(0.5) + promotion.SOON),)]
    status = written(starting(made_ago=0.5, endpoints={"demo-serve-svc": 1}))
    assert status.active_service_status.ray_cluster_name == "new"
    assert (status.num_serve_endpoints, status.service_status) == (1, "Running")


def test_that_the_first_cluster_serves_is_told_soon_though_no_request_reaches_it() -> None:
    status = written(starting(made_ago=2))
    assert status.active_service_status.ray_cluster_name == "new"
    assert status.pending_service_status == RayServiceStatus()
    assert find(status, "Ready").status == "False"  # type: ignore[union-attr]


def test_a_service_whose_time_is_over_does_not_wait_for_requests() -> None:
    found = starting(made_ago=0.5, meta={"annotations": {"ray.io/initializing-timeout": "10s"}})
    assert find(written(found), "Ready").reason == "InitializingTimeout"  # type: ignore[union-attr]


def upgrade(**pending: Any) -> Observed:
    """An upgrade whose new cluster is ready; the old one still answers."""
    wanted = made.service({"rayClusterConfig": {"rayVersion": "2.57.0"}}, status=STEADY)
    parts = {"cluster": made.cluster("new", wanted), "report": made.report(), "servers": 1, **pending}
    return made.observed(
        wanted,
        active=made.side("active", "old", cluster=made.cluster("old"), servers=2),
        pending=made.side("pending", "new", **parts),
        services=made.services("old"),
        endpoints={"demo-serve-svc": 2},
    )


def test_services_move_to_a_new_cluster_that_is_ready_and_it_serves_from_then_on() -> None:
    found = upgrade()
    assert decided(found)[0] == (
        MoveService("head", "demo-head-svc", "new", "5"),
        MoveService("serve", "demo-serve-svc", "new", "5"),
    )
    status = written(found)
    assert status.active_service_status.ray_cluster_name == "new"
    assert find(status, "UpgradeInProgress").status == "False"  # type: ignore[union-attr]


def test_services_stay_while_no_pod_of_the_new_cluster_answers() -> None:
    found = upgrade(servers=0)
    assert not [action for phase in decided(found) for action in phase if isinstance(action, MoveService)]
    assert written(found).active_service_status.ray_cluster_name == "old"


def test_services_that_were_moved_before_a_crash_make_the_new_cluster_the_one_that_serves() -> None:
    found = msgspec.structs.replace(upgrade(report=made.report("DEPLOYING")), services=made.services("new"))
    assert written(found).active_service_status.ray_cluster_name == "new"


def test_a_service_that_serves_needs_nothing() -> None:
    active = made.side("active", "old", cluster=made.cluster("old"), report=made.report(of="old"))
    found = made.observed(
        made.service(status=STEADY), active=active, services=made.services("old"), endpoints={"demo-serve-svc": 2}
    )
    settled = msgspec.structs.replace(found, service=msgspec.structs.replace(found.service, status=written(found)))
    side = msgspec.structs.replace(active, status=settled.status.active_service_status)
    assert decided(msgspec.structs.replace(settled, active=side)) == []


def scaled(cluster: RayCluster, *, desired: int, ready: int) -> RayCluster:
    """A cluster with so many workers."""
    counts = {"desired_worker_replicas": desired, "ready_worker_replicas": ready, "available_worker_replicas": ready}
    return msgspec.structs.replace(cluster, status=msgspec.structs.replace(cluster.status, **counts))


@pytest.mark.parametrize(
    ("role", "ready", "is_written"),
    [
        pytest.param("active", 3, True, id="they are all there"),
        pytest.param("active", 2, True, id="some are not ready"),
        pytest.param("active", 0, False, id="they do not come"),
        pytest.param("pending", 3, False, id="it does not serve yet"),
    ],
)
def test_the_workers_of_the_cluster_that_serves_are_told_when_others_are_ready(
    role: Any, ready: int, is_written: bool
) -> None:
    before = made.cluster("new")
    told = RayServiceStatus(
        ray_cluster_name="new",
        ray_cluster_status=before.status,
        application_statuses={"one": AppStatus(status="DEPLOYING")},
    )
    side = made.side(role, "new", cluster=before, report=made.report("DEPLOYING"), status=told)
    settled = written(made.observed(made.service(status=STEADY), **{role: side}))
    after = msgspec.structs.replace(side, cluster=scaled(before, desired=3, ready=ready))
    found = made.observed(made.service(status=settled), **{role: after})
    assert names(found) == ([["WriteStatus"]] if is_written else [])


@pytest.mark.parametrize(
    ("endpoints", "ready"),
    [
        pytest.param({}, "True", id="their slices have not come yet"),
        pytest.param({"demo-serve-svc": 0}, "False", id="none is left"),
        pytest.param({"demo-serve-svc": 1}, "True", id="one is left"),
    ],
)
def test_a_service_is_ready_while_pods_answer_as_far_as_is_known(endpoints: dict[str, int], ready: str) -> None:
    active = made.side("active", "old", cluster=made.cluster("old"), report=made.report(of="old"))
    steady = written(
        made.observed(
            made.service(status=STEADY), active=active, services=made.services("old"), endpoints={"demo-serve-svc": 2}
        )
    )
    found = made.observed(
        made.service(status=steady, meta={"generation": 2}),
        active=msgspec.structs.replace(active, status=steady.active_service_status),
        services=made.services("old"),
        endpoints=endpoints,
    )
    actions = [action for phase in decided(found) for action in phase if isinstance(action, WriteStatus)]
    status = actions[0].status if actions else steady
    assert find(status, "Ready").status == ready  # type: ignore[union-attr]


def test_a_changed_cluster_means_another_one_and_the_old_applications_are_let_be() -> None:
    changed = made.service(
        {"rayClusterConfig": {"rayVersion": "2.57.0"}, "serveConfigV2": "x: 1"}, status=STEADY, meta={"generation": 2}
    )
    active = made.side("active", "old", cluster=made.cluster("old"), report=made.report(of="old"))
    found = made.observed(changed, active=active, services=made.services("old"), endpoints={"demo-serve-svc": 2})
    assert names(found) == [["WriteStatus"], ["CreateCluster"]]
    assert find(written(found), "UpgradeInProgress").status == "True"  # type: ignore[union-attr]


def test_a_cluster_that_kuberay_made_is_marked_in_place_and_goes_on_serving() -> None:
    notes = {"ray.io/kuberay-version": "v1.7.0", "ray.io/hash-without-replicas-and-workers-to-delete": "OF-KUBERAY"}
    cluster = made.cluster("old")
    about = msgspec.structs.replace(cluster.metadata, annotations={**cluster.metadata.annotations, **notes})
    foreign = msgspec.structs.replace(cluster, metadata=about)
    active = made.side("active", "old", cluster=foreign, report=made.report(of="old"))
    found = made.observed(
        made.service(status=STEADY), active=active, services=made.services("old"), endpoints={"demo-serve-svc": 2}
    )
    assert names(found) == [["UpdateCluster"], ["WriteStatus"]]
    status = written(found)
    assert status.pending_service_status == RayServiceStatus()
    assert status.active_service_status.application_statuses["one"].status == "RUNNING"


def test_the_generation_counts_as_seen_only_when_serve_was_told() -> None:
    changed = made.service({"serveConfigV2": "x: 1"}, status=STEADY, meta={"generation": 2})
    active = made.side("active", "old", cluster=made.cluster("old"), report=made.report(of="old"))
    found = made.observed(changed, active=active, services=made.services("old"), generation=1)
    assert decided(found)[-1] == (Submit("old"),)
    assert written(found).observed_generation == 1


@pytest.mark.parametrize(("healthy", "label", "wanted"), [(True, "false", "true"), (False, "true", "false")])
def test_a_head_is_labelled_by_its_proxy(healthy: bool, label: str, wanted: str) -> None:
    said = made.report("DEPLOYING", proxy=made.proxy("new-head", healthy=healthy))
    pending = made.side("pending", "new", cluster=made.cluster("new"), report=said, heads=(made.head("new", label),))
    assert decided(made.observed(pending=pending))[0] == (LabelHead("new-head", "new-head-uid", wanted),)


def test_the_generation_does_not_count_as_seen_before_serve_has_reported_what_it_runs() -> None:
    before = RayServiceStatus(ray_cluster_name="old", application_statuses={"one": AppStatus(status="RUNNING")})
    changed = made.service({"serveConfigV2": "x: 1"}, status=STEADY, meta={"generation": 2})
    active = made.side("active", "old", cluster=made.cluster("old"), submitted=Submitted(), status=before)
    services, endpoints = made.services("old"), {"demo-serve-svc": 2}
    status = written(made.observed(changed, active=active, generation=1, services=services, endpoints=endpoints))
    assert status.observed_generation == 1
    assert status.active_service_status.application_statuses == before.application_statuses


def test_a_head_that_is_to_get_no_requests_is_never_labelled_true() -> None:
    said = made.report("DEPLOYING", proxy=made.proxy("new-head"))
    pending = made.side("pending", "new", cluster=made.cluster("new"), report=said, heads=(made.head("new", "true"),))
    found = made.observed(made.service({"excludeHeadPodFromServeSvc": True}), pending=pending)
    assert decided(found)[0] == (LabelHead("new-head", "new-head-uid", "false"),)


def test_what_another_head_said_does_not_count() -> None:
    said = made.report("DEPLOYING", proxy=made.proxy("head-before"))
    pending = made.side("pending", "new", cluster=made.cluster("new"), report=said, heads=(made.head("new"),))
    assert not any("LabelHead" in phase for phase in names(made.observed(pending=pending)))


def test_a_cluster_that_is_not_needed_goes_when_its_time_is_over() -> None:
    left = made.cluster("left")
    active = made.side("active", "old", cluster=made.cluster("old"), report=made.report(of="old"))
    parts: Any = {"active": active, "services": made.services("old"), "clusters": (active.cluster, left)}
    waiting = made.observed(made.service(), doomed={"left-uid": made.NOW + timedelta(seconds=5)}, **parts)
    assert decided(waiting)[0] == (Recheck(made.NOW + timedelta(seconds=5)),)
    over = made.observed(made.service(), doomed={"left-uid": made.NOW}, **parts)
    assert (DeleteCluster("left", "left-uid", "it is replaced"),) in decided(over)


def test_a_service_that_is_deleted_takes_its_clusters_along_first() -> None:
    going = made.service(meta={"deletionTimestamp": "2026-01-02T03:04:05Z"})
    found = made.observed(going, active=made.side("active", "old", cluster=made.cluster("old")))
    assert names(found) == [["DeleteCluster"]]
    terminating = (made.cluster("old", deletion_timestamp=made.NOW),)
    assert decided(msgspec.structs.replace(found, clusters=terminating)) == []
    assert decided(msgspec.structs.replace(found, clusters=())) == [(RemoveFinalizer(),)]


def test_what_somebody_else_looks_after_is_left_alone() -> None:
    foreign = made.service({"managedBy": "kueue.x-k8s.io/multikueue"}, meta={"finalizers": []})
    assert decided(made.observed(foreign)) == []


def test_a_service_that_cannot_be_served_is_told_so_once() -> None:
    wrong = made.service({"upgradeStrategy": {"type": "Sometimes"}})
    found = made.observed(wrong, generation=0)
    status = written(found)
    message = find(status, "Ready").message  # type: ignore[union-attr]
    assert message.startswith("The RayService spec is invalid: Spec.UpgradeStrategy.Type value Sometimes is invalid")
    told = [action for phase in decided(found) for action in phase if isinstance(action, Tell)]
    assert told == [Tell("Warning", "InvalidRayServiceSpec", "Validate", f"ns/demo: {message}")]
    assert decided(made.observed(msgspec.structs.replace(wrong, status=status), generation=0)) == []


@pytest.mark.parametrize("value", ["soon", "-5", "0", "0s"])
def test_a_deadline_that_cannot_be_read_is_refused(value: str) -> None:
    wrong = made.service(meta={"annotations": {"ray.io/upgrade-timeout": value}})
    ready = find(written(made.observed(wrong)), "Ready")
    assert ready is not None
    assert ready.message.endswith(f"must be a positive duration or a positive number of seconds, got: {value}")


@pytest.mark.parametrize("name", ["ray.io/initializing-timeout", "ray.io/upgrade-timeout"])
def test_a_deadline_beyond_what_times_can_tell_is_far_away(name: str) -> None:
    patient = made.service(meta={"annotations": {name: str(2**62)}})
    begun = made.observed(msgspec.structs.replace(patient, status=written(made.observed(patient))))
    assert names(begun)


def test_a_cluster_that_would_be_refused_is_refused_with_its_service() -> None:
    wrong = made.service({"rayClusterConfig": {"upgradeStrategy": {"type": "Recreate"}}})
    ready = find(written(made.observed(wrong)), "Ready")
    assert ready is not None
    assert ready.message.endswith("upgradeStrategy cannot be set when RayCluster is created by RayService")


def test_suspension_is_written_before_anything_is_deleted() -> None:
    asked = made.service({"suspend": True}, status=STEADY)
    active = made.side("active", "old", cluster=made.cluster("old"))
    found = made.observed(asked, active=active, services=made.services("old"))
    assert names(found) == [["WriteStatus"]]
    status = written(found)
    assert find(status, "Suspending").reason == "SuspendRequested"  # type: ignore[union-attr]
    assert status.active_service_status == RayServiceStatus()
    going = msgspec.structs.replace(found.after(status), active=made.side("active"))
    deletions = [action for phase in decided(going) for action in phase if not isinstance(action, WriteStatus)]
    assert deletions == [
        DeleteCluster("old", "old-uid", "the RayService is suspended", suspending=True),
        DeleteService("demo-head-svc", "demo-head-svc-uid"),
        DeleteService("demo-serve-svc", "demo-serve-svc-uid"),
    ]
    gone = msgspec.structs.replace(going, clusters=(), services={})
    assert [(each.type, each.status) for each in written(gone).conditions][-3:] == [
        ("Suspending", "False"),
        ("RollbackInProgress", "False"),
        ("Suspended", "True"),
    ]


def test_a_service_that_is_resumed_begins_anew() -> None:
    resting = RayServiceStatuses(conditions=(made.condition("Suspended", "True", "SuspendComplete"),))
    status = written(made.observed(made.service(status=resting)))
    assert find(status, "Suspended").reason == "RayServiceResumed"  # type: ignore[union-attr]
    ready = find(status, "Ready")
    assert ready is not None
    assert (ready.reason, ready.message) == ("Initializing", "RayService is initializing after resuming from suspend.")
    assert status.pending_service_status.ray_cluster_name


def test_a_service_that_takes_too_long_is_given_up_for_good() -> None:
    slow = made.service(
        meta={"annotations": {"ray.io/initializing-timeout": "1m30s"}},
        status=RayServiceStatuses(conditions=(made.condition("Ready", "False", "Initializing", seconds=90),)),
    )
    found = made.observed(slow, pending=made.side("pending", "new", cluster=made.cluster("new", ready=False)))
    status = written(found)
    assert status.pending_service_status.ray_cluster_name == ""
    ready = find(status, "Ready")
    assert ready is not None
    assert ready.message == (
        "RayService failed to become ready within the configured timeout of 1m30s. Time spent initializing: 1m30s"
    )
    after = made.observed(msgspec.structs.replace(slow, status=status))
    assert decided(after) == []
    assert decided(found, made.ago(10))[0] == (Recheck(made.NOW),)


def test_an_upgrade_that_takes_too_long_is_given_up_and_the_cause_told() -> None:
    found = upgrade(report=made.report("DEPLOY_FAILED"))
    status = written(found, upgrade_deadline_seconds=60)
    assert status.pending_service_status.ray_cluster_name == ""
    failed = find(status, "UpgradeFailed")
    assert failed is not None
    assert "application one is DEPLOY_FAILED" in failed.message
    waiting = upgrade(report=made.report("DEPLOY_FAILED"))
    assert decided(waiting, upgrade_deadline_seconds=61)[0] == (Recheck(made.NOW + timedelta(seconds=1)),)
    again = made.observed(
        msgspec.structs.replace(found.service, status=status), active=found.active, services=made.services("old")
    )
    assert not any("CreateCluster" in phase for phase in names(again))


def test_why_a_service_is_not_ready_stands_in_the_condition() -> None:
    said = made.report("UNHEALTHY")
    app = msgspec.structs.replace(said.applications["one"], message="no module named a")
    pending = made.side(
        "pending", "new", cluster=made.cluster("new"), report=msgspec.structs.replace(said, applications={"one": app})
    )
    ready = find(written(made.observed(pending=pending)), "Ready")
    assert ready is not None
    assert ready.message == "RayService is initializing: application one is UNHEALTHY: no module named a"


def portless(*, services: dict[str, Service] | None = None) -> Observed:
    """A RayService whose first cluster runs all applications, but whose head has no port for Serve."""
    ports = [{"name": "dashboard", "containerPort": 8265}]
    containers = [{"name": "ray-head", "image": "ray:1", "ports": ports}]
    wanted = made.service({"rayClusterConfig": {"headGroupSpec": {"template": {"spec": {"containers": containers}}}}})
    pending = made.side("pending", "new", cluster=made.cluster("new", wanted), report=made.report())
    return made.observed(wanted, pending=pending, services=services or {})


def test_without_a_port_for_serve_there_is_the_head_service_alone_and_the_condition_says_why() -> None:
    found = portless()
    assert decided(found)[0] == (CreateService("head", "demo-head-svc", "new"),)
    status = written(found)
    ready = find(status, "Ready")
    assert ready is not None
    assert "Please specify a port named 'serve'" in ready.message
    assert status.active_service_status.ray_cluster_name == ""
    again = portless(services={"demo-head-svc": made.kube_service("demo-head-svc", "new")})
    assert names(again) == [["WriteStatus"]]


@pytest.mark.parametrize(("phase", "is_asked"), [("Running", True), ("Pending", False)])
def test_where_conditions_are_switched_off_the_head_pod_tells_whether_it_is_ready(phase: str, is_asked: bool) -> None:
    silent = msgspec.structs.replace(made.cluster("new"), status=RayClusterStatus())
    head = made.head("new")
    pod = msgspec.structs.replace(head, status=msgspec.structs.replace(head.status, phase=phase))
    pending = made.side("pending", "new", cluster=silent, heads=(pod,), submitted=Submitted())
    off = RaySettings(gates=Gates(status_conditions=False))
    asked = [action for each in decided(made.observed(pending=pending), ray=off) for action in each]
    assert (Submit("new") in asked) is is_asked


@pytest.mark.parametrize(
    ("limit", "words"),
    [("500ms", "500ms"), ("90", "1m30s"), ("1.5h", "1h30m0s"), ("10500ms", "10.5s"), ("250us", "250µs")],
)
def test_times_are_told_as_go_tells_them(limit: str, words: str) -> None:
    slow = made.service(
        meta={"annotations": {"ray.io/initializing-timeout": limit}},
        status=RayServiceStatuses(conditions=(made.condition("Ready", "False", "Initializing", seconds=90_000),)),
    )
    ready = find(written(made.observed(slow)), "Ready")
    assert ready is not None
    assert f"the configured timeout of {words}. " in ready.message


def test_the_finalizer_is_the_first_thing_that_is_written() -> None:
    assert decided(made.observed(made.service(meta={"finalizers": []})))[0] == (AddFinalizer(),)
