"""The client in trouble: an API server that refuses, hangs, loses answers, cuts watches, freezes and dies."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable, Iterator

import msgspec
import pytest

from manta_common import errors
from manta_common.api.core import ObjectReference
from manta_common.keys import Key
from manta_common.kinds import CONFIGMAP, EVENT, SECRET
from manta_common.kube.client import Client, connect
from manta_common.kube.events import Recorder
from manta_common.kube.protocol import Change, MergePatch, Scope
from manta_common.kube.series import Notice
from manta_common.kube.settings import KubeSettings
from tests.contract.kube.objects import ConfigMap, Object, configmap, make, of
from tests.parts.control_plane import ControlPlane
from tests.parts.eventually import eventually
from tests.parts.fault_proxy import Fault, FaultProxy
from tests.parts.kubeconfig import write_kubeconfig
from tests.parts.patience import patient

# Limits that a slow machine keeps; tests of what comes after a limit have shorter ones.
SETTINGS = KubeSettings(service="faults", get_seconds=20, list_seconds=20, write_seconds=20, watch_idle_seconds=60)
BRIEF = msgspec.structs.replace(SETTINGS, get_seconds=5, list_seconds=5, write_seconds=5)
IDLE_SECONDS = 2
Outcomes = list[tuple[str, str, str]]


@pytest.fixture
def proxy(control_plane: ControlPlane) -> Iterator[FaultProxy]:
    yield control_plane.proxy
    control_plane.proxy.clear()


@pytest.fixture
def outcomes() -> Outcomes:
    """What the client told of its calls: verb, kind, outcome."""
    return []


@pytest.fixture
async def kube(control_plane: ControlPlane, proxy: FaultProxy, outcomes: Outcomes) -> AsyncIterator[Client]:
    """A client behind the fault proxy with short limits."""
    path = str(control_plane.proxy_kubeconfig)

    def note(verb: str, kind: str, outcome: str, seconds: float) -> None:
        assert seconds >= 0
        outcomes.append((verb, kind, outcome))

    async with connect(SETTINGS, kubeconfig=path, on_call=note) as client:
        yield client


def path_of(namespace: str) -> str:
    return f"/namespaces/{namespace}/configmaps"


async def exists(kube: Client, key: Key) -> bool:
    try:
        await kube.get(CONFIGMAP, key, Object)
    except errors.NotFound:
        return False
    return True


async def test_429_is_waited_out(kube: Client, proxy: FaultProxy, namespace: str, outcomes: Outcomes) -> None:
    fault = proxy.inject(Fault(path=path_of(namespace), method="POST", status=429, retry_after=1, times=2))
    before = time.monotonic()
    await make(kube, namespace, "one")
    assert fault.hits == 2
    assert time.monotonic() - before >= 2
    assert outcomes == [("create", "configmap", "ok")]


async def test_429_without_end_is_throttled_after_some_tries(kube: Client, proxy: FaultProxy, namespace: str) -> None:
    fault = proxy.inject(Fault(path=path_of(namespace), status=429, retry_after=0))
    with pytest.raises(errors.Throttled) as refusal:
        await kube.list(CONFIGMAP, Object, of(namespace))
    assert fault.hits == SETTINGS.throttled_tries
    assert refusal.value.retry_after_seconds >= 0


async def test_429_for_longer_than_the_time_limit_is_throttled_at_once(
    kube: Client, proxy: FaultProxy, namespace: str, outcomes: Outcomes
) -> None:
    fault = proxy.inject(Fault(path=path_of(namespace), status=429, retry_after=60))
    with pytest.raises(errors.Throttled) as refusal:
        await make(kube, namespace, "one")
    assert (fault.hits, refusal.value.retry_after_seconds) == (1, 60)
    assert outcomes == [("create", "configmap", "Throttled")]


@pytest.mark.parametrize("status", [500, 502, 503, 504])
async def test_a_write_that_failed_on_the_other_side_is_unreachable_and_not_repeated(
    kube: Client, proxy: FaultProxy, namespace: str, status: int
) -> None:
    fault = proxy.inject(Fault(path=path_of(namespace), method="POST", status=status))
    with pytest.raises(errors.Unreachable, match="injected"):
        await make(kube, namespace, "one")
    assert fault.hits == 1
    assert not await exists(kube, Key(namespace, "one"))


async def test_a_lost_answer_leaves_it_open_whether_the_write_was_carried_out(
    kube: Client, proxy: FaultProxy, namespace: str
) -> None:
    fault = proxy.inject(Fault(path=path_of(namespace), method="POST", status=504, applied=True, times=1))
    with pytest.raises(errors.Unreachable):
        await make(kube, namespace, "one")
    assert fault.hits == 1
    with pytest.raises(errors.AlreadyExists):  # the second try of the caller finds it
        await make(kube, namespace, "one")


async def test_slow_answers_hit_the_limit_of_their_verb(
    control_plane: ControlPlane, kube: Client, proxy: FaultProxy, namespace: str
) -> None:
    await make(kube, namespace, "one")
    proxy.inject(Fault(path=path_of(namespace), delay_seconds=30))
    before = time.monotonic()
    async with connect(BRIEF, kubeconfig=str(control_plane.proxy_kubeconfig)) as brief:
        results = await asyncio.gather(
            brief.get(CONFIGMAP, Key(namespace, "one"), Object),
            brief.list(CONFIGMAP, Object, of(namespace)),
            make(brief, namespace, "two"),
            brief.patch(CONFIGMAP, Key(namespace, "one"), MergePatch({"data": {"a": "b"}}), Object),
            brief.delete(CONFIGMAP, Key(namespace, "one"), uid="any"),
            return_exceptions=True,
        )
    assert [type(result) for result in results] == [errors.Unreachable] * 5
    assert all("no answer in time" in str(result) for result in results)
    assert 4.5 < time.monotonic() - before < 28


async def test_a_slow_answer_within_the_limit_is_an_answer(kube: Client, proxy: FaultProxy, namespace: str) -> None:
    proxy.inject(Fault(path=path_of(namespace), delay_seconds=1, times=1))
    assert (await make(kube, namespace, "one")).metadata.uid


async def test_a_slow_call_does_not_hold_up_others(
    control_plane: ControlPlane, proxy: FaultProxy, namespace: str
) -> None:
    proxy.inject(Fault(path=f"{path_of(namespace)}/slow", delay_seconds=60))
    settings = msgspec.structs.replace(SETTINGS, get_seconds=10)  # the others are done before, on a slow machine too
    async with connect(settings, kubeconfig=str(control_plane.proxy_kubeconfig)) as kube:
        slow = asyncio.create_task(kube.get(CONFIGMAP, Key(namespace, "slow"), Object))
        for number in range(5):
            await make(kube, namespace, f"item-{number}")
        assert not slow.done()
        with pytest.raises(errors.Unreachable):
            await slow


async def test_a_list_whose_pages_expire_is_begun_again_once(
    control_plane: ControlPlane, proxy: FaultProxy, namespace: str
) -> None:
    settings = msgspec.structs.replace(SETTINGS, page_size=2)
    async with connect(settings, kubeconfig=str(control_plane.proxy_kubeconfig)) as kube:
        for number in range(5):
            await make(kube, namespace, f"item-{number}")
        once = proxy.inject(Fault(path="continue=", status=410, times=1))
        assert len((await kube.list(CONFIGMAP, Object, of(namespace))).items) == 5
        assert once.hits == 1
        proxy.inject(Fault(path="continue=", status=410))
        with pytest.raises(errors.Expired):
            await kube.list(CONFIGMAP, Object, of(namespace))


async def collect(kube: Client, namespace: str, since: str, keep: Callable[[Change[ConfigMap]], object] = repr) -> None:
    """Watch until an error or the end."""
    async with contextlib.aclosing(kube.watch(CONFIGMAP, ConfigMap, of(namespace), since=since)) as stream:
        async for change in stream:
            keep(change)


async def start_watching(kube: Client, namespace: str) -> tuple[asyncio.Task[None], list[Change[ConfigMap]]]:
    """A watch that has seen its first change."""
    seen: list[Change[ConfigMap]] = []
    since = (await kube.list(CONFIGMAP, Object, of(namespace))).version
    task = asyncio.create_task(collect(kube, namespace, since, seen.append))
    await make(kube, namespace, "first")

    async def something() -> bool | None:
        return bool(seen) or None

    await eventually("the watch brings something", something, limit_seconds=10)
    return task, seen


async def test_a_dropped_watch_is_unreachable_and_nothing_is_missed_by_watching_on(
    kube: Client, proxy: FaultProxy, namespace: str
) -> None:
    task, seen = await start_watching(kube, namespace)
    assert proxy.drop_watches() >= 1
    with pytest.raises(errors.Unreachable):
        await task
    await make(kube, namespace, "meanwhile")
    again = kube.watch(CONFIGMAP, ConfigMap, of(namespace), since=seen[-1].version)
    async with contextlib.aclosing(again), asyncio.timeout(patient(10)):
        change = await anext(again)
    assert change.object is not None
    assert change.object.metadata.name == "meanwhile"


async def test_a_frozen_watch_is_noticed_by_its_silence(
    control_plane: ControlPlane, proxy: FaultProxy, namespace: str
) -> None:
    settings = msgspec.structs.replace(SETTINGS, watch_idle_seconds=2 * IDLE_SECONDS)
    async with connect(settings, kubeconfig=str(control_plane.proxy_kubeconfig)) as kube:
        task, _ = await start_watching(kube, namespace)
        proxy.freeze_watches()
        before = time.monotonic()
        with pytest.raises(errors.Unreachable, match=f"nothing was heard for {2 * IDLE_SECONDS} s"):
            await task
    assert time.monotonic() - before < patient(8)


async def test_a_watch_from_a_version_of_the_future_ends_in_a_new_list(
    control_plane: ControlPlane, namespace: str
) -> None:
    settings = msgspec.structs.replace(SETTINGS, watch_idle_seconds=IDLE_SECONDS)
    async with connect(settings, kubeconfig=str(control_plane.proxy_kubeconfig)) as kube:
        since = str(int((await kube.list(CONFIGMAP, Object, of(namespace))).version) + 1_000_000)
        with pytest.raises(errors.Expired, match="nothing was heard"):
            await collect(kube, namespace, since)


@pytest.mark.parametrize(
    ("status", "error"), [(410, errors.Expired), (429, errors.Throttled), (503, errors.Unreachable)]
)
async def test_a_watch_that_is_refused_says_why(
    kube: Client, proxy: FaultProxy, namespace: str, status: int, error: type[errors.MantaError]
) -> None:
    proxy.inject(Fault(path="watch=", status=status))
    with pytest.raises(error):
        await collect(kube, namespace, "1")


async def test_a_watch_that_never_opens_is_unreachable(
    control_plane: ControlPlane, proxy: FaultProxy, namespace: str
) -> None:
    proxy.inject(Fault(path="watch=", delay_seconds=30))
    settings = msgspec.structs.replace(SETTINGS, watch_open_seconds=1)
    async with connect(settings, kubeconfig=str(control_plane.proxy_kubeconfig)) as kube:
        with pytest.raises(errors.Unreachable, match="watch configmaps: no answer in time"):
            await collect(kube, namespace, "1")


async def test_the_api_server_dies_and_comes_back(control_plane: ControlPlane, namespace: str) -> None:
    async with connect(SETTINGS, kubeconfig=str(control_plane.kubeconfig)) as kube:
        task, seen = await start_watching(kube, namespace)
        made = await asyncio.gather(*(make(kube, namespace, f"item-{number}") for number in range(8)))
        control_plane.kill_api_server()
        try:
            with pytest.raises(errors.Unreachable):
                await task
            with pytest.raises(errors.Unreachable):
                await make(kube, namespace, "while-it-is-down")
            with pytest.raises(errors.Unreachable):
                await kube.list(CONFIGMAP, Object, of(namespace))
        finally:
            await asyncio.to_thread(control_plane.start_api_server)
        listed = await kube.list(CONFIGMAP, ConfigMap, of(namespace))
        assert {item.metadata.uid for item in listed.items} >= {item.metadata.uid for item in made}
        assert "while-it-is-down" not in {item.metadata.name for item in listed.items}
        assert (await make(kube, namespace, "after")).metadata.uid
        assert int(seen[-1].version) < int(listed.version)


async def test_kept_connections_that_the_server_closed_do_no_harm(control_plane: ControlPlane, namespace: str) -> None:
    async with connect(SETTINGS, kubeconfig=str(control_plane.kubeconfig)) as kube:
        await asyncio.gather(*(make(kube, namespace, f"item-{number}") for number in range(8)))
        control_plane.kill_api_server()
        await asyncio.to_thread(control_plane.start_api_server)
        reads = (kube.get(CONFIGMAP, Key(namespace, f"item-{number}"), Object) for number in range(8))
        assert len(await asyncio.gather(*reads)) == 8
        await make(kube, namespace, "after")


async def test_rights_count(control_plane: ControlPlane, namespace: str) -> None:
    path = control_plane.folder / "nobody-of-faults.kubeconfig"
    write_kubeconfig(path, server=control_plane.server, ca=control_plane.ca, token=control_plane.tokens["nobody"])
    async with connect(SETTINGS, kubeconfig=str(path)) as kube:
        with pytest.raises(errors.Refused, match='User "nobody" cannot list resource "secrets"') as refusal:
            await kube.list(SECRET, Object, Scope(namespace=namespace))
        assert (refusal.value.code, refusal.value.reason) == (403, "Forbidden")


async def test_a_token_that_is_no_longer_known_is_read_again(control_plane: ControlPlane, namespace: str) -> None:
    path = control_plane.folder / "renewed.kubeconfig"
    write_kubeconfig(path, server=control_plane.server, ca=control_plane.ca, token=control_plane.token)
    async with connect(SETTINGS, kubeconfig=str(path)) as kube:
        await make(kube, namespace, "one")
        write_kubeconfig(path, server=control_plane.server, ca=control_plane.ca, token="stale")
        async with connect(SETTINGS, kubeconfig=str(path)) as stale:
            with pytest.raises(errors.Refused) as refusal:
                await make(stale, namespace, "two")
            assert refusal.value.code == 401
            write_kubeconfig(path, server=control_plane.server, ca=control_plane.ca, token=control_plane.token)
            results = await asyncio.gather(*(make(stale, namespace, f"item-{number}") for number in range(8)))
            assert len(results) == 8


async def test_a_server_that_cannot_prove_its_name_is_not_talked_to(
    control_plane: ControlPlane, namespace: str
) -> None:
    path = control_plane.folder / "elsewhere.kubeconfig"
    server = control_plane.server.replace("127.0.0.1", "127.0.0.2")  # its certificate does not say so
    write_kubeconfig(path, server=server, ca=control_plane.ca, token=control_plane.token)
    async with connect(SETTINGS, kubeconfig=str(path)) as kube:
        with pytest.raises(errors.Unreachable):
            await kube.list(CONFIGMAP, Object, of(namespace))


async def test_the_client_side_limit_holds(control_plane: ControlPlane, namespace: str) -> None:
    settings = msgspec.structs.replace(SETTINGS, qps=20, burst=5)
    async with connect(settings, kubeconfig=str(control_plane.kubeconfig)) as kube:
        before = time.monotonic()
        await asyncio.gather(*(make(kube, namespace, f"item-{number}") for number in range(25)))
        assert time.monotonic() - before >= 0.95


async def test_a_closed_client_is_unreachable(control_plane: ControlPlane, namespace: str) -> None:
    async with connect(SETTINGS, kubeconfig=str(control_plane.kubeconfig)) as kube:
        assert (await kube.server_version()).startswith("v1.")
    with pytest.raises(errors.Unreachable, match="closed"):
        await make(kube, namespace, "one")


async def test_the_server_learns_who_writes(control_plane: ControlPlane, namespace: str) -> None:
    async with connect(SETTINGS, kubeconfig=str(control_plane.kubeconfig)) as kube:
        made = await kube.create(CONFIGMAP, namespace, configmap("one"), dict)
    assert [entry["manager"] for entry in made["metadata"]["managedFields"]] == ["manta-faults"]


async def test_events_outlive_an_outage(kube: Client, proxy: FaultProxy, namespace: str) -> None:
    about = ObjectReference(api_version="v1", kind="ConfigMap", namespace=namespace, name="one", uid="u")
    notice = Notice(controller="raycluster-controller", type="Normal", reason="Created", action="Create", note="x")
    fault = proxy.inject(Fault(path="/apis/events.k8s.io", method="POST", status=503, times=1))
    lost = proxy.inject(Fault(path="/apis/events.k8s.io", method="POST", status=504, applied=True, times=1))
    recorder = Recorder(kube, "host")
    recorder.record(about, notice)
    for _ in range(3):
        await recorder.drain(limit_seconds=patient(10))
    found = await kube.list(EVENT, Object, Scope(namespace=namespace, fields="regarding.uid=u"))
    assert (fault.hits, lost.hits, len(found.items)) == (1, 1, 1)
