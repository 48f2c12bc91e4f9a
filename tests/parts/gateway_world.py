"""A gateway among objects that a watcher would have published: clusters, head Services and jobs, without Kubernetes."""

import asyncio
import random
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar
from urllib.parse import urlsplit

import msgspec

import manta_common.api.core
from manta_common.api.core import Service, ServicePort, ServiceSpec
from manta_common.api.labels import CLUSTER, HEAD, NODE_TYPE
from manta_common.api.meta import Condition, ObjectMeta
from manta_common.api.raycluster import HeadInfo, RayCluster, RayClusterSpec, RayClusterStatus, empty_spec
from manta_common.api.raygroups import HeadGroupSpec
from manta_common.api.rayjob import RayJob, RayJobStatus
from manta_common.api.rayoptions import AuthOptions
from manta_common.api.rayservice import RayService, RayServiceSpec, RayServiceStatus, RayServiceStatuses
from manta_common.bus.channel import Channel, State
from manta_common.bus.protocol import Bus
from manta_common.clock import SystemClock
from manta_common.dashboard.client import Dashboards
from manta_common.dashboard.reports import JOB_INFO, SERVE_INFO, JobReport, ServeReport
from manta_common.errors import NotFound
from manta_common.keys import Key
from manta_common.kinds import Kind
from manta_common.ownership.settings import Times
from manta_common.partitions import partition_of
from manta_common.plane import Means
from manta_common.telemetry.metrics import Registry
from manta_dashboard_gateway.credentials import Credentials
from manta_dashboard_gateway.gateway import Gateway, Setup
from manta_dashboard_gateway.pace import Pace
from manta_dashboard_gateway.places import Ways
from manta_dashboard_gateway.ray.transport import Transport
from manta_dashboard_gateway.rounds import Limits
from tests.parts.eventually import eventually
from tests.parts.patience import patient

NAMESPACE = "default"
PARTITIONS = 4
LIMIT_SECONDS = 60.0
QUICK = Pace(usual_seconds=0.2, new_seconds=0.1, longest_seconds=0.5)
BRIEF = Limits(one_seconds=1.0, list_seconds=3.0)
CHANNELS: dict[str, Channel[Any]] = {
    "raycluster": Channel("raycluster", RayCluster),
    "service": Channel("service", Service),
    "rayjob": Channel("rayjob", RayJob),
    "rayservice": Channel("rayservice", RayService),
}
SERVES = {"ray.io/originated-from-crd": "RayService"}
T = TypeVar("T")


class Secrets:
    """The Secrets of Kubernetes, as far as a gateway reads them."""

    def __init__(self) -> None:
        self._secrets: dict[Key, manta_common.api.core.Secret] = {}
        self.reads = 0

    def put(self, name: str, version: str, **values: str | bytes) -> None:
        """Make or change a Secret; `auth_token` is a key, and `tls_crt` stands for `tls.crt`."""
        data = {key.replace("_crt", ".crt").replace("_key", ".key"): _bytes(value) for key, value in values.items()}
        meta = ObjectMeta(name=name, namespace=NAMESPACE, resource_version=version)
        self._secrets[Key(NAMESPACE, name)] = manta_common.api.core.Secret(metadata=meta, data=data)

    async def get(self, kind: Kind, key: Key, into: type[T]) -> T:
        self.reads += 1
        if kind.name != "secret" or key not in self._secrets:
            raise NotFound(f"there is no {kind.kind} {key}")
        return msgspec.convert(self._secrets[key], into, from_attributes=True)


class World:
    """Publishes objects, and reads what gateways say of them."""

    def __init__(self, bus: Bus) -> None:
        self.bus, self.secrets = bus, Secrets()
        self.dashboards = Dashboards(bus)
        self._version = 0

    async def cluster(self, name: str, url: str, **options: Any) -> RayCluster:
        """A cluster whose dashboard is at this URL."""
        parts = urlsplit(url)
        meta = ObjectMeta(name=name, namespace=NAMESPACE, uid=options.get("uid", f"{name}-uid"))
        spec = empty_spec()
        if options.get("auth"):
            spec = msgspec.structs.replace(spec, auth_options=options["auth"])
        if options.get("labels"):
            meta = msgspec.structs.replace(meta, labels=options["labels"])
        head = HeadInfo(pod_ip=parts.hostname or "", pod_name=f"{name}-head")
        status = RayClusterStatus(head=head, conditions=_ready(options))
        cluster = RayCluster(metadata=meta, spec=options.get("spec", spec), status=status)
        await self.put("service", _service(name, parts.port or 80), root=Key(NAMESPACE, name))
        return await self.put("raycluster", cluster, root=options.get("root", Key(NAMESPACE, name)))

    async def job(self, name: str, cluster: str, job_id: str = "", **options: Any) -> RayJob:
        """A RayJob that waits for its job on a cluster."""
        meta = ObjectMeta(name=name, namespace=NAMESPACE, uid=options.get("uid", f"{name}-uid"))
        status = RayJobStatus(
            job_id=job_id or name,
            ray_cluster_name=cluster,
            dashboard_url="somewhere:8265",
            job_deployment_status=options.get("state", "Running"),
            start_time=options.get("start_time", datetime.now(UTC)),
        )
        return await self.put("rayjob", RayJob(metadata=meta, status=status), root=Key(NAMESPACE, name))

    async def serving(self, name: str, url: str, **options: Any) -> RayCluster:
        """A cluster of a RayService: its dashboard is at this URL, and so is the proxy, if no other is given."""
        port = urlsplit(options.get("proxy", url)).port
        container = {"name": "ray-head", "ports": [{"name": "serve", "containerPort": port}]}
        template = msgspec.Raw(msgspec.json.encode({"spec": {"containers": [container]}}))
        spec = spec_with(head_group_spec=HeadGroupSpec(template=template), auth_options=options.pop("auth", None))
        options = {"labels": SERVES, "ready_at": ago(60), "spec": spec} | options
        return await self.cluster(name, url, **options)

    async def service(self, name: str, active: str, config: str = "", **options: Any) -> RayService:
        """A RayService that serves with a cluster."""
        meta = ObjectMeta(name=name, namespace=NAMESPACE, uid=f"{name}-uid")
        serving = RayServiceStatus(ray_cluster_name=active, target_capacity=options.get("capacity"))
        status = RayServiceStatuses(active_service_status=serving)
        spec = RayServiceSpec(serve_config_v2=config, ray_cluster_config=empty_spec())
        return await self.put("rayservice", RayService(metadata=meta, spec=spec, status=status), root=meta_key(meta))

    async def put(self, word: str, thing: T, *, root: Key) -> T:
        """Publish an object in the partition of its root."""
        self._version += 1
        meta: ObjectMeta = getattr(thing, "metadata")  # noqa: B009  every object has it
        key = meta_key(meta)
        state = State(key=key, uid=meta.uid, version=str(self._version), object=thing)
        await self.bus.publish(CHANNELS[word].subject(_partition(root), key), CHANNELS[word].encode(state))
        return thing

    async def remove(self, word: str, name: str) -> None:
        """Publish that an object is gone."""
        self._version += 1
        key = Key(NAMESPACE, name)
        state: State[Any] = State(key=key, uid=f"{name}-uid", version=str(self._version))
        await self.bus.publish(CHANNELS[word].subject(_partition(key), key), CHANNELS[word].encode(state))

    async def state(self, job: str) -> State[JobReport] | None:
        """What stands in the stream of a job."""
        key = Key(NAMESPACE, job)
        message = await self.bus.last(JOB_INFO.subject(_partition(key), key))
        return JOB_INFO.decode(message.body) if message else None

    async def report(self, job: str) -> JobReport | None:
        """What was said of a job, if anything."""
        found = await self.state(job)
        return found.object if found else None

    async def serve_report(self, cluster: str) -> ServeReport | None:
        """What was said of a cluster's applications, if anything."""
        key = Key(NAMESPACE, cluster)
        message = await self.bus.last(SERVE_INFO.subject(_partition(key), key))
        return SERVE_INFO.decode(message.body).object if message else None

    async def said(self, job: str, *, status: str = "", trouble: str = "") -> JobReport:
        """The report of a job once it has this status, or this trouble."""

        async def find() -> JobReport | None:
            found = await self.report(job)
            kind = found.trouble.kind if found and found.trouble else ""
            return found if found and (found.status == status or not status) and kind == trouble else None

        return await eventually(f"{job} is {status} {trouble}", find, limit_seconds=LIMIT_SECONDS)

    async def served(self, cluster: str, what: str, fits: Callable[[ServeReport], bool]) -> ServeReport:
        """What is said of a cluster's applications once it fits."""

        async def find() -> ServeReport | None:
            found = await self.serve_report(cluster)
            return found if found and fits(found) else None

        return await eventually(f"{cluster}: {what}", find, limit_seconds=LIMIT_SECONDS)

    @asynccontextmanager
    async def gateway(self, bus: Bus | None = None, **changes: Any) -> AsyncIterator[Gateway]:
        """A replica that polls quickly, until the block ends."""
        clock = SystemClock()
        means = Means(
            bus=bus or self.bus,
            now=lambda: datetime.now(UTC),
            clock=clock,
            chance=random.Random(0),
            metrics=Registry("dashboard-gateway"),
        )
        values: dict[str, Any] = {
            "ways": Ways(reach="pod"),
            "pace": QUICK,
            "limits": BRIEF,
            "partitions": PARTITIONS,
            "times": Times(),
        }
        transport = Transport(Credentials(self.secrets, clock.monotonic), None)
        gateway = Gateway(means, transport, Setup(**(values | changes)))
        running = asyncio.ensure_future(gateway.run())
        try:
            await eventually("the gateway works", lambda: _works(gateway), limit_seconds=LIMIT_SECONDS)
            yield gateway
        finally:
            gateway.stop()
            await asyncio.wait_for(running, patient(LIMIT_SECONDS))
            await transport.close()


async def _works(gateway: Gateway) -> bool | None:
    return True if gateway.answering and gateway.plane.owner.held else None


def meta_key(meta: ObjectMeta) -> Key:
    """Whose metadata it is."""
    return Key(meta.namespace, meta.name)


def token_auth(name: str = "") -> AuthOptions:
    """A cluster that wants a token."""
    return AuthOptions(mode="token", secret_name=name or None)


def spec_with(**fields: Any) -> RayClusterSpec:
    """A cluster's spec with these fields."""
    return msgspec.structs.replace(empty_spec(), **fields)


def ago(seconds: float) -> datetime:
    """A moment in the past."""
    return datetime.now(UTC) - timedelta(seconds=seconds)


def _service(cluster: str, port: int) -> Service:
    meta = ObjectMeta(
        name=f"{cluster}-head-svc", namespace=NAMESPACE, uid=f"{cluster}-service", labels={NODE_TYPE: HEAD}
    )
    return Service(
        metadata=meta, spec=ServiceSpec(selector={CLUSTER: cluster}, ports=(ServicePort(name="dashboard", port=port),))
    )


def _ready(options: dict[str, Any]) -> tuple[Condition, ...]:
    ready_at = options.get("ready_at")
    if ready_at is None:
        return ()
    ready = Condition(type="HeadPodReady", status="True", last_transition_time=ready_at, reason="Ready", message="")
    return (ready if options.get("ready", True) else msgspec.structs.replace(ready, status="False"),)


def _partition(root: Key) -> int:
    return partition_of(root, PARTITIONS)


def _bytes(value: str | bytes) -> bytes:
    return value.encode() if isinstance(value, str) else value
