"""What a comparison leaves behind: nothing, so that nobody waits for an operator that is gone."""

import asyncio
import random
from collections.abc import Callable
from typing import TypeVar

from manta_common.api.annotations import JOB_FINALIZER, SERVICE_FINALIZER
from manta_common.keys import Key
from manta_common.kinds import CRD, NAMESPACE, RAYJOB, RAYSERVICE
from manta_common.kube.settings import KubeSettings
from manta_embedded.store.controllers.plane import Controllers
from manta_embedded.store.kube import Call, EmbeddedKube
from manta_embedded.store.schema.ray import definitions
from manta_embedded.store.store import Store
from tests.bench.cluster_api import Api
from tests.bench.side_world import clean
from tests.examples import manifests
from tests.unit.manta_cli.place import LoopClock
from tests.unit.manta_common.virtual import run

T = TypeVar("T")


class Settling:
    """Lets the controllers work after every call."""

    def __init__(self, store: Store) -> None:
        self._controllers = Controllers(store)

    async def __call__(self, call: Call, act: Callable[[], T]) -> T:
        found = act()
        self._controllers.settle()
        return found


def test_jobs_and_services_do_not_hold_a_namespace_whose_operator_is_gone() -> None:
    async def main() -> None:
        store = Store(LoopClock(), random.Random(0))
        kube = EmbeddedKube(store, KubeSettings(service="bench"), seam=Settling(store))
        store.create(NAMESPACE, "", {"metadata": {"name": "side"}})
        for definition in definitions():
            store.create(CRD, "", definition)
        store.create(RAYJOB, "side", manifests.job(finalizers=[JOB_FINALIZER]))
        store.create(RAYSERVICE, "side", manifests.service(finalizers=[SERVICE_FINALIZER]))

        async with asyncio.timeout(60):
            await clean(Api(kube, "side"))
        assert store.find(NAMESPACE, Key("", "side")) is None

    run(main())
