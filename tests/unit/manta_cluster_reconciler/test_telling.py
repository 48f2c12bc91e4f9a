"""One event stands for many pods, and a refusal is told once."""

from manta_cluster_reconciler import reasons
from manta_cluster_reconciler.actions import Action, AddFinalizer, CreatePod, Halt, Tell
from manta_cluster_reconciler.policies.deeds import delete
from manta_cluster_reconciler.telling import Result, notices
from manta_common.keys import Key
from tests.unit.manta_cluster_reconciler.scenes import cluster, worker

OF = cluster()
CLUSTER = Key("ns", "demo")


def make(name: str) -> CreatePod:
    told = reasons.creating_worker(CLUSTER, Key("ns", name))
    return CreatePod(body={"metadata": {"name": name}}, told=told, marker=reasons.FAILED_CREATE_WORKER)


def notes(*results: tuple[Action, str | None]) -> list[str]:
    told = [Result(place, action, error) for place, (action, error) in enumerate(results)]
    return [notice.note for notice in notices(list(reversed(told)))]


def test_one_pod_is_told_as_kuberay_does() -> None:
    assert notes((make("a"), None)) == ["Created worker Pod ns/a"]


def test_many_pods_are_told_by_one_event_in_the_order_of_their_phase() -> None:
    assert notes((make("a"), None), (make("b"), None), (make("c"), None)) == [
        "Created worker Pod ns/a and 2 more: b, c"
    ]


def test_very_many_names_are_cut_short() -> None:
    [note] = notes(*((make(f"p{number}"), None) for number in range(30)))
    assert note.startswith("Created worker Pod ns/p0 and 29 more: p1, ")
    assert note.endswith(", p10, ...")


def test_what_is_said_of_all_at_once_is_said_once() -> None:
    told = reasons.deleting_group(CLUSTER, "a")
    pods = [worker(OF, number) for number in range(3)]
    assert notes(*((delete(pod, told, because="x"), None) for pod in pods)) == [
        "Deleted all pods for suspended worker group a in RayCluster ns/demo"
    ]


def test_refusals_are_told_once_after_what_went_well() -> None:
    assert notes((make("a"), None), (make("b"), "no room for b"), (make("c"), "no room for c")) == [
        "Created worker Pod ns/a",
        "Failed to create worker Pod for the cluster ns/demo, no room for b",
    ]


def test_words_of_their_own_and_halts_are_told_and_silence_is_kept() -> None:
    notice = reasons.warning("Reason", "Validate", "words")
    assert notes((Tell(notice), None), (AddFinalizer("x"), None)) == ["words"]
    assert notes((Halt(message="m", notice=notice), "m")) == ["words"]
    assert notes((Halt(message="m"), "m")) == []
