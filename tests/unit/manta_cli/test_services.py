"""get, watch and describe of RayServices: how they are, what they are about, and where their pods are."""

import asyncio
from typing import Any

import pytest

from manta_cli import watch
from manta_common.keys import Key
from manta_common.kinds import POD, RAYSERVICE
from manta_common.kube.protocol import MergePatch
from tests.examples import manifests
from tests.examples.example import Json
from tests.unit.manta_cli.place import USER, Place, played

RUNNING = {"applicationStatuses": {"one": {"status": "RUNNING"}, "two": {"status": "DEPLOYING"}}}
OLD: Json = {"rayClusterName": "s-old", **RUNNING}
NEW: Json = {"rayClusterName": "s-new", "applicationStatuses": {"one": {"status": "RUNNING"}}}


def conditions(**statuses: str) -> list[Json]:
    common = {"reason": "Told", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}
    return [{"type": name, "status": status, **common} for name, status in statuses.items()]


def tell(place: Place, **status: Any) -> None:
    """Write fields of the RayService's status."""
    place.store.patch(RAYSERVICE, Key("team", "s"), MergePatch({"status": status}), USER, subresource="status")


@pytest.mark.parametrize(
    ("status", "state", "progress"),
    [
        pytest.param({}, "new", "0/0 applications, 0 endpoints", id="new"),
        pytest.param(
            {"conditions": conditions(Ready="False"), "pendingServiceStatus": OLD},
            "Told",
            "1/2 applications, 0 endpoints, s-old",
            id="not ready, for a reason",
        ),
        pytest.param(
            {"serviceStatus": "Running", "numServeEndpoints": 3, "activeServiceStatus": OLD},
            "Running",
            "1/2 applications, 3 endpoints, s-old",
            id="serves",
        ),
        pytest.param(
            {
                "serviceStatus": "Running",
                "conditions": conditions(Ready="True", UpgradeInProgress="True"),
                "numServeEndpoints": 3,
                "activeServiceStatus": OLD,
                "pendingServiceStatus": NEW,
            },
            "Upgrading",
            "1/1 applications, 3 endpoints, s-old -> s-new",
            id="is replaced",
        ),
        pytest.param(
            {
                "conditions": conditions(UpgradeInProgress="True", RollbackInProgress="True"),
                "activeServiceStatus": OLD | {"trafficRoutedPercent": 75},
                "pendingServiceStatus": NEW | {"trafficRoutedPercent": 25},
            },
            "RollingBack",
            "1/1 applications, 0 endpoints, s-old -> s-new (25% of the traffic)",
            id="goes back step by step",
        ),
        pytest.param(
            {"conditions": conditions(Suspended="True", Ready="False")},
            "Suspended",
            "0/0 applications, 0 endpoints",
            id="suspended",
        ),
    ],
)
def test_a_row(status: Json, state: str, progress: str) -> None:
    found = {"metadata": {"name": "s"}, "status": status}
    assert (watch.state(RAYSERVICE, found), watch.progress(RAYSERVICE, found)) == (state, progress)


def test_services_are_got_and_watched_like_other_kinds() -> None:
    async def scenario(place: Place) -> None:
        place.make(RAYSERVICE, manifests.service(name="s"))
        tell(place, serviceStatus="Running", numServeEndpoints=2, activeServiceStatus=OLD)
        assert await place.manta("get", "rayservices") == 0
        header, row = place.said.splitlines()
        assert header.split() == ["NAME", "SERVICE", "STATUS", "NUM", "SERVE", "ENDPOINTS"]
        assert row.split() == ["s", "Running", "2"]
        watching = asyncio.create_task(place.manta("watch"))
        await asyncio.sleep(1)
        tell(place, numServeEndpoints=1)
        await asyncio.sleep(1)
        watching.cancel()
        with pytest.raises(asyncio.CancelledError):
            await watching
        assert place.said.splitlines() == [
            "rayservice   s   Running   1/2 applications, 2 endpoints, s-old",
            "rayservice   s   Running   1/2 applications, 1 endpoints, s-old",
        ]

    played(scenario)


def test_both_clusters_of_a_service_are_described() -> None:
    async def scenario(place: Place) -> None:
        place.make(RAYSERVICE, manifests.service(name="s"))
        tell(place, conditions=conditions(Ready="True"), activeServiceStatus=OLD, pendingServiceStatus=NEW)
        for cluster in ("s-old", "s-new"):
            spec = {"containers": [manifests.HEAD]}
            about = {"name": f"{cluster}-head", "labels": {"ray.io/cluster": cluster}}
            place.make(POD, {"apiVersion": "v1", "kind": "Pod", "metadata": about, "spec": spec})
        assert await place.manta("describe", "rayservice", "s") == 0
        said = place.said
        for line in ("Pods of s-old:", "Pods of s-new:", "  Ready=True  Told: ", "        status: DEPLOYING"):
            assert line in said.splitlines(), said
        assert said.index("s-old-head") < said.index("s-new-head")

    played(scenario)
