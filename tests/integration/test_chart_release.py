"""A release of the chart at work: services with the rights it gives them and no others, replaced, and taken away."""

import asyncio
import collections
import contextlib
import functools
import itertools
import pathlib
from collections.abc import AsyncIterator, Iterable, Iterator

import nats
import pytest
from nats.aio.client import Client

from manta_cli.rights import all_rights
from manta_common.bus.settings import client_name, inbox_prefix
from tests.integration import chart_plays as plays
from tests.integration.clusters import Clusters
from tests.integration.job_world import Jobs
from tests.integration.service_world import Services
from tests.parts import audit, crds
from tests.parts.chart import Installed
from tests.parts.chart_hooks import run_hook
from tests.parts.control_plane import ControlPlane
from tests.parts.patience import patient
from tests.parts.process import wait_until
from tests.parts.stub_dashboard import StubDashboard

JOBS = 100
LIMIT_SECONDS = 20
CRDS = ("rayclusters.ray.io", "rayjobs.ray.io", "rayservices.ray.io", "raycronjobs.ray.io")
GATES = ("RayCronJob", "RayClusterNetworkPolicy", "GCSFaultToleranceEmbeddedStorage")
VALUES = [
    "singleNamespaceInstall=true",
    *(f"featureGates[{number}].name={name},featureGates[{number}].enabled=true" for number, name in enumerate(GATES)),
]


@pytest.fixture(scope="module")
def release(
    control_plane: ControlPlane, ray_crds: None, stub: StubDashboard, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Installed]:
    crds.install_gateway_api(control_plane)
    folder: pathlib.Path = tmp_path_factory.mktemp("chart")
    with control_plane.fresh_namespace("chart") as namespace:
        installed = Installed(control_plane, namespace, folder, VALUES)
        settings = {
            "MANTA_DASHBOARD_GATEWAY_REACH": stub.dashboard_url.removeprefix("http://"),
            "MANTA_JOB_RECONCILER_DELAY_RETRIES": "false",
        }
        try:
            installed.start(settings)
            yield installed
        finally:
            installed.stop()


def test_the_services_need_every_right_they_have_and_no_other(release: Installed) -> None:
    clusters, jobs = Clusters(release.plane, release.namespace), Jobs(release.plane, release.namespace)
    services = Services(release.plane, release.namespace)
    plays.play_clusters(clusters)
    plays.play_jobs(jobs, release.restart)
    plays.play_schedule(jobs)
    plays.play_services(services, release.restart)
    plays.play_roads(services)
    plays.play_storage(clusters)
    plays.play_clean_up(clusters)
    accounts = {rights.service: f"{release.fullname}-{rights.service}" for rights in all_rights()}
    log = release.plane.audit_log
    refused = [
        f"{service}: {use}"
        for service, name in accounts.items()
        for use in sorted(audit.forbidden(log, release.namespace, name))
    ]
    assert refused == [], "rights that are missing"
    with contextlib.suppress(TimeoutError):  # the comparison tells which were not
        needed = functools.partial(_are_all_used, release, accounts)
        wait_until("every right was needed", needed, limit_seconds=LIMIT_SECONDS)
    idle = [f"{service}: {use}" for service in accounts for use in sorted(_never_used(release, service))]
    assert idle == [], "rights that nobody needed"


def test_helm_test_finds_nothing_wrong(release: Installed) -> None:
    found = run_hook(release, "test")
    assert found.returncode == 0, found.stdout + found.stderr
    for expected in ("API server", *(f"rights of {service}" for service in release.services), "NATS"):
        assert f"ok    {expected}:" in found.stdout


def test_helm_test_names_a_right_that_is_missing(release: Installed) -> None:
    bindings = f"apis/rbac.authorization.k8s.io/v1/namespaces/{release.namespace}/rolebindings"
    binding = release.plane.request("GET", f"{bindings}/{release.fullname}-janitor")
    release.plane.request("DELETE", f"{bindings}/{release.fullname}-janitor")
    try:
        wait_until("the right is gone", lambda: not _may_delete_jobs(release, "janitor"), limit_seconds=LIMIT_SECONDS)
        found = run_hook(release, "test")
    finally:
        binding["metadata"].pop("resourceVersion")
        release.plane.request("POST", bindings, binding)
    wait_until("the right is back", lambda: _may_delete_jobs(release, "janitor"), limit_seconds=LIMIT_SECONDS)
    assert found.returncode == 1
    assert "fail  rights of janitor: not allowed: delete rayjobs" in found.stdout


def test_the_hook_of_an_upgrade_has_the_rights_to_apply_crds(release: Installed) -> None:
    found = run_hook(release, "pre-upgrade")
    assert found.returncode == 0, found.stderr
    assert found.stdout.splitlines() == [f"{name} applied" for name in CRDS]


@pytest.mark.parametrize(
    ("service", "subject"),
    [
        ("watcher", "manta.v1.state.0.plain.jobinfo.default.job"),
        ("dashboard-gateway", "manta.v1.state.0.plain.raycluster.default.one"),
        ("janitor", "manta.v1.state.0.plain.raycluster.default.one"),
        ("janitor", "manta.v1.call.dashboard.submit"),
        ("janitor", "$KV.manta_members.watcher.somebody"),
        ("job-reconciler", "$JS.API.STREAM.DELETE.MANTA_STATE"),
        ("job-reconciler", "$JS.API.STREAM.PURGE.MANTA_STATE"),
        ("serve-reconciler", "manta.v1.state.0.plain.serveinfo.default.one"),
        ("cluster-reconciler", "manta.v1.call.dashboard.submit"),
        ("doctor", "manta.v1.state.0.plain.raycluster.default.one"),
        ("doctor", "$JS.API.CONSUMER.CREATE.MANTA_STATE"),
    ],
)
async def test_nats_lets_nobody_say_what_is_not_theirs(release: Installed, service: str, subject: str) -> None:
    async with _client(release, service) as (client, complaint):
        await client.publish(subject, b"")
        said = await asyncio.wait_for(complaint, patient(LIMIT_SECONDS))
    assert f'permissions violation for publish to "{subject}"'.lower() in said.lower()


async def test_nats_lets_nobody_hear_what_others_are_answered(release: Installed) -> None:
    async with _client(release, "janitor") as (client, complaint):
        await client.subscribe(f"{inbox_prefix(client_name('watcher'))}.>")
        said = await asyncio.wait_for(complaint, patient(LIMIT_SECONDS))
    assert "permissions violation for subscription" in said.lower()


def test_nothing_is_lost_or_done_twice_while_every_deployment_is_rolled(
    release: Installed, stub: StubDashboard
) -> None:
    jobs, names = Jobs(release.plane, release.namespace), iter([f"rolled-{number}" for number in range(JOBS)])
    release.plane.kubectl("delete", "rayjobs", "--all", "-n", release.namespace)
    release.complete()
    stub.forget()
    release.upgrade("9.9.9", "logging.level=debug")
    turns = [(service, number) for service, running in release.processes.items() for number in range(len(running))]
    assert len(turns) == 2 * len(release.services)
    for turn, (service, number) in enumerate(turns):
        for name in itertools.islice(names, JOBS // len(turns) + (turn < JOBS % len(turns))):
            jobs.make(name, entrypoint="sleep 2", shutdownAfterJobFinishes=True)
        old = release.replace(service, number)
        assert old.exit_code(within_seconds=0) == 0, f"{old.name} did not end by itself:\n{old.tail()}"
    jobs.until("all jobs are through", lambda: _states(jobs) == {"Complete": JOBS})
    jobs.until("no cluster is left", lambda: not jobs.plane.request("GET", jobs.path("rayclusters"))["items"])
    found = jobs.plane.request("GET", jobs.path("rayjobs"))["items"]
    assert {job["status"]["jobId"] for job in found} == set(stub.jobs)
    assert len(stub.jobs) == JOBS, "every job was submitted, under one id, and nothing else was"
    assert _doubles(release) == []


# The last one: nothing of the release is left.
def test_users_keep_their_clusters_when_the_release_is_taken_away(release: Installed, tmp_path: pathlib.Path) -> None:
    clusters = Clusters(release.plane, release.namespace)
    clusters.create("kept")
    clusters.until_ready("kept", 1)
    before = clusters.uids("kept")
    release.uninstall()
    assert release.services == []
    assert clusters.status("kept")["state"] == "ready"
    assert clusters.uids("kept") == before
    again = Installed(release.plane, release.namespace, tmp_path, VALUES)
    try:
        again.start(release.more)
        clusters.resize("kept", replicas=2)
        clusters.until_ready("kept", 2)
    finally:
        again.stop()
    assert before < clusters.uids("kept")


@contextlib.asynccontextmanager
async def _client(release: Installed, service: str) -> AsyncIterator[tuple[Client, asyncio.Future[str]]]:
    """A connection as a service, and what NATS has to complain of first."""
    complaint: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    async def heard(error: Exception) -> None:
        if not complaint.done():
            complaint.set_result(str(error))

    client = await nats.connect(release.nats_url(service), error_cb=heard)
    try:
        yield client, complaint
    finally:
        await client.close()


def _may_delete_jobs(release: Installed, service: str) -> bool:
    """Whether the API server lets a service delete RayJobs; it learns of bindings a moment later."""
    use = {"group": "ray.io", "resource": "rayjobs", "verb": "delete", "namespace": release.namespace}
    user = f"system:serviceaccount:{release.namespace}:{release.fullname}-{service}"
    review = {"spec": {"user": user, "resourceAttributes": use}}
    answer = release.plane.request("POST", "apis/authorization.k8s.io/v1/subjectaccessreviews", review)
    return bool(answer["status"]["allowed"])


def _states(jobs: Jobs) -> collections.Counter[str]:
    found = jobs.plane.request("GET", jobs.path("rayjobs"))["items"]
    return collections.Counter(job.get("status", {}).get("jobDeploymentStatus", "") for job in found)


def _doubles(release: Installed) -> list[str]:
    """Clusters that were made another number of times than once, and those with another number of heads in their life.

    What is made after the end of a cluster does not count: nobody sees both at once, and it is deleted with its owner.
    """
    log, lives = release.plane.audit_log, dict[str, list[audit.Write]]()
    for one in audit.writes(log, release.namespace, "rayclusters"):
        if one.name.startswith("rolled-"):
            lives.setdefault(one.name, []).append(one)
    pods = [one for one in audit.writes(log, release.namespace, "pods") if one.verb == "create"]
    found = [] if len(lives) == JOBS else [f"{len(lives)} clusters for {JOBS} jobs"]
    for name, life in lives.items():
        ended_at = next(one.at for one in life if one.verb == "delete")
        heads = [one for one in pods if one.name.startswith(f"{name}-head-") and one.at < ended_at]
        if [one.verb for one in life].count("create") != 1 or len(heads) != 1:
            found.append(f"{name}: {life}, {heads}")
    return found


def _are_all_used(release: Installed, services: Iterable[str]) -> bool:
    return not any(_never_used(release, service) for service in services)


def _never_used(release: Installed, service: str) -> set[audit.Use]:
    """Rights that a service has with these values and did not use, though calls would show it."""
    (rights,) = (one for one in all_rights() if one.service == service)
    shown = [one for one in rights.kubernetes if one.when in plays.PLAYED and not one.why]
    granted = {(verb, one.kind.group, one.resource) for one in shown for verb in one.verbs}
    return granted - audit.used(release.plane.audit_log, release.namespace, f"{release.fullname}-{service}")
