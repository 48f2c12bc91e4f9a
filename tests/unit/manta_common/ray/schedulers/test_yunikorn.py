"""YuniKorn's task groups."""

import json
from typing import Any

from manta_common.api.meta import ObjectMeta
from manta_common.api.rayjob import RayJob
from manta_common.ray.schedulers.parent import Parent, cluster_parent, job_parent
from manta_common.ray.schedulers.yunikorn import mark, task_groups
from tests.unit.manta_common.ray.clusters import GROUP, HEAD, RAY, cluster

TASK_GROUPS, TASK_GROUP = "yunikorn.apache.org/task-groups", "yunikorn.apache.org/task-group-name"
SUBMITTER = {"spec": {"containers": [{"name": "s", "resources": {"requests": {"cpu": "500m"}}}]}}


def parent(changes: dict[str, Any] | None = None) -> Parent:
    return cluster_parent(cluster({"metadata.labels": {"ray.io/gang-scheduling-enabled": ""}} | (changes or {})))


def test_groups_in_kuberay_s_order_of_fields() -> None:
    made = task_groups(
        parent(
            {
                f"{HEAD}.{RAY}.resources": {"requests": {"memory": "1024Mi", "cpu": "1"}},
                f"{GROUP}.minReplicas": 2,
                f"{GROUP}.numOfHosts": 2,
                f"{GROUP}.suspend": True,
            }
        )
    )
    assert made == (
        '[{"minResource":{"cpu":"1","memory":"1Gi"},"name":"headgroup","minMember":1},'
        '{"minResource":{},"name":"small","minMember":4}]'
    )


def test_groups_say_where_their_pods_may_run() -> None:
    placed = {
        f"{GROUP}.template.spec.nodeSelector": {"a": "b"},
        f"{GROUP}.template.spec.affinity": {"nodeAffinity": {}},
        f"{GROUP}.template.spec.tolerations": [{"operator": "Exists"}],
    }
    found = json.loads(task_groups(parent(placed)))[1]
    assert list(found) == ["minResource", "nodeSelector", "affinity", "name", "tolerations", "minMember"]
    assert (found["nodeSelector"], found["affinity"]) == ({"a": "b"}, {"nodeAffinity": {}})


def test_a_job_s_submitter_is_a_group_too() -> None:
    job = RayJob(metadata=ObjectMeta(name="job"))
    names = [group["name"] for group in json.loads(task_groups(job_parent(job, cluster().spec, SUBMITTER)))]
    assert names == ["headgroup", "small", "submittergroup"]


def test_pods_of_a_gang_know_all_groups_and_their_own() -> None:
    found = mark(parent(), "small").annotations
    assert found == {TASK_GROUPS: task_groups(parent()), TASK_GROUP: "small"}


def test_groups_that_the_parent_names_are_passed_on() -> None:
    given = parent({"metadata.annotations": {TASK_GROUPS: "[mine]"}})
    assert mark(given, "small").annotations[TASK_GROUPS] == "[mine]"
    empty = parent({"metadata.annotations": {TASK_GROUPS: ""}})
    assert mark(empty, "small").annotations[TASK_GROUPS].startswith("[{")


def test_a_job_s_cluster_is_no_member_of_a_group() -> None:
    assert TASK_GROUP not in mark(parent(), "").annotations


def test_without_a_gang_no_groups() -> None:
    assert mark(cluster_parent(cluster()), "small").annotations == {}
