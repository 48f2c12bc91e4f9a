"""What doctor finds, and what it says to do."""

from typing import Any

import pytest

from manta_common.errors import Misconfigured
from manta_common.keys import Key
from manta_common.kinds import CRD, RAYCLUSTER
from manta_common.kube.protocol import MergePatch
from tests.examples import manifests
from tests.unit.manta_cli.place import USER, Place, played


async def findings(place: Place, *words: str) -> tuple[int, dict[str, Any]]:
    code = await place.manta("doctor", "-o", "json", *words)
    return code, {one["check"]: one for one in place.document}


def test_a_sound_cluster_is_told_so() -> None:
    async def scenario(place: Place) -> None:
        code, found = await findings(place)
        assert code == 0
        assert found["API server"]["found"] == "answers, v1.36.0"
        assert found["rights of janitor"]["state"] == "ok"
        assert found["CRD rayjobs.ray.io"]["state"] == "ok"
        assert found["NATS"]["state"] == "skip"
        assert await place.manta("doctor") == 0
        assert "ok    API server: answers, v1.36.0" in place.said

    played(scenario)


def test_what_is_missing_is_told_with_what_to_do() -> None:
    async def scenario(place: Place) -> None:
        place.kube.refused = {"delete rayjobs", "patch rayjobs/status"}
        definition = await place.kube.get(CRD, Key("", "rayjobs.ray.io"), dict)
        freed = MergePatch({"metadata": {"finalizers": None}})
        await place.kube.delete(CRD, Key("", "rayjobs.ray.io"), uid=definition["metadata"]["uid"])
        place.store.patch(CRD, Key("", "rayjobs.ray.io"), freed, USER)
        code, found = await findings(place)
        assert code == 1
        assert found["rights of janitor"]["found"] == "not allowed: delete rayjobs, patch rayjobs/status"
        assert found["CRD rayjobs.ray.io"]["do"] == "install it: manta crds apply"
        assert await place.manta("doctor", "--service", "watcher") == 1
        assert "-> install it: manta crds apply" in place.said

    played(scenario)


def test_the_rights_of_an_installation_are_asked_for_by_its_accounts() -> None:
    async def scenario(place: Place) -> None:
        assert await place.manta("doctor", "--accounts", "ray:manta-", "--service", "janitor") == 0
        janitor = "system:serviceaccount:ray:manta-janitor"
        assert place.kube.asked_about == {("SubjectAccessReview", janitor, "")}
        place.kube.asked_about.clear()
        assert await place.manta("doctor", "--accounts", "ray:manta-", "--service", "janitor", "-n", "team") == 0
        assert place.kube.asked_about == {("LocalSubjectAccessReview", janitor, "team")}
        with pytest.raises(Misconfigured, match="say NAMESPACE:PREFIX"):
            await place.manta("doctor", "--accounts", "manta-")

    played(scenario)


def test_an_old_server_and_a_nats_that_is_not_there_are_told() -> None:
    async def scenario(place: Place) -> None:
        place.kube.version = "v1.25.3"
        code, found = await findings(place, "--nats", "nats://127.0.0.1:1")
        assert code == 1
        assert found["API server"]["state"] == "warn"
        assert found["NATS"]["state"] == "fail"
        assert "127.0.0.1:1" in found["NATS"]["found"]

    played(scenario)


def test_dashboards_that_do_not_answer_are_told() -> None:
    async def scenario(place: Place) -> None:
        for name in "ab":
            place.make(RAYCLUSTER, manifests.cluster(name=name))
            patch = MergePatch({"status": {"state": "ready"}})
            place.store.patch(RAYCLUSTER, Key("team", name), patch, USER, subresource="status")
        place.kube.answers["/api/v1/namespaces/team/services/a-head-svc:dashboard/proxy/api/version"] = b"{}"
        _, found = await findings(place)
        assert found["dashboards"]["state"] == "warn"
        assert found["dashboards"]["found"].startswith("1 of 2 do not answer: team/b-head-svc")

    played(scenario)
