"""Examples of the rules for head and worker groups; paths are within the cluster's spec."""

from manta_common.validation import groups
from tests.examples.example import Example
from tests.examples.manifests import both, head, head_env, head_pod, worker, workers

V2 = {"autoscalerOptions": {"version": "v2"}}
NAME_PART = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character "
    "(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
LABEL_VALUE = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
    "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)

EXAMPLES = (
    Example(
        says="the head needs a container",
        rule=groups.HEAD_WITHOUT_CONTAINER,
        good={},
        bad=head_pod(containers=[]),
        path="headGroupSpec.template.spec.containers",
        message="headGroupSpec should have at least one container",
    ),
    Example(
        says="the head's resources are given in one place",
        rule=groups.RESOURCES_TWICE,
        good=head(rayStartParams={"num-cpus": ""}, resources={"CPU": "1"}),
        bad=head(rayStartParams={"num-cpus": "1"}, resources={"CPU": "1"}),
        path="headGroupSpec.resources",
        message="resource fields should not be set in both rayStartParams and Resources for Head group; "
        "please use only one",
    ),
    Example(
        says="the head's labels are not in its start parameters",
        rule=groups.LABELS_IN_PARAMS,
        good=head(labels={"a": "b"}),
        bad=head(rayStartParams={"labels": ""}),
        path="headGroupSpec.rayStartParams[labels]",
        message="rayStartParams['labels'] is not supported for Head group; please use the top-level Labels field "
        "instead",
    ),
    Example(
        says="the head's label keys are label keys",
        rule=groups.LABEL_KEY,
        good=head(labels={"ray.io/zone": "b"}),
        bad=head(labels={"-zone": "b"}),
        path="headGroupSpec.labels[-zone]",
        message=f"invalid label key for Head group: '-zone', error: name part {NAME_PART}",
    ),
    Example(
        says="the head's label keys have at most one slash",
        rule=groups.LABEL_KEY,
        good=head(labels={"a/b": ""}),
        bad=head(labels={"a/b/c": ""}),
        path="headGroupSpec.labels[a/b/c]",
        message=f"invalid label key for Head group: 'a/b/c', error: a valid label key {NAME_PART} "
        "with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')",
    ),
    Example(
        says="the head's label values are label values",
        rule=groups.LABEL_VALUE,
        good=head(labels={"zone": "a" * 63}),
        bad=head(labels={"zone": "a" * 64}),
        path="headGroupSpec.labels[zone]",
        message=f"invalid label value for key 'zone' in Head group: '{'a' * 64}', error: must be no more than 63 bytes",
    ),
    Example(
        says="a worker group needs a container",
        rule=groups.WORKER_WITHOUT_CONTAINER,
        good={},
        bad=worker(template={"spec": {"containers": []}}),
        path="workerGroupSpecs[0].template.spec.containers",
        message="workerGroupSpec should have at least one container",
    ),
    Example(
        says="the fewest workers are not below none",
        rule=groups.MIN_NEGATIVE,
        good=worker(minReplicas=0),
        bad=worker(minReplicas=-1),
        path="workerGroupSpecs[0].minReplicas",
        message="worker group small has negative minReplicas -1",
    ),
    Example(
        says="the most workers are not below none",
        rule=groups.MAX_NEGATIVE,
        good=worker(maxReplicas=0),
        bad=worker(maxReplicas=-1),
        path="workerGroupSpecs[0].maxReplicas",
        message="worker group small has negative maxReplicas -1",
    ),
    Example(
        says="the fewest workers are not above the most, in any group",
        rule=groups.MIN_ABOVE_MAX,
        good=workers({}, {"groupName": "big", "minReplicas": 5}),
        bad=workers({}, {"groupName": "big", "minReplicas": 6}),
        path="workerGroupSpecs[1].minReplicas",
        message="worker group big has minReplicas 6 greater than maxReplicas 5",
    ),
    Example(
        says="a group's resources are given in one place",
        rule=groups.RESOURCES_TWICE,
        good=worker(resources={"CPU": "1"}),
        bad=worker(resources={"CPU": "1"}, rayStartParams={"memory": "1000"}),
        path="workerGroupSpecs[0].resources",
        message="resource fields should not be set in both rayStartParams and Resources for small group; "
        "please use only one",
    ),
    Example(
        says="a group's labels are not in its start parameters",
        rule=groups.LABELS_IN_PARAMS,
        good=worker(labels={"a": "b"}),
        bad=worker(rayStartParams={"labels": "a=b"}),
        path="workerGroupSpecs[0].rayStartParams[labels]",
        message="rayStartParams['labels'] is not supported for small group; please use the top-level Labels field "
        "instead",
    ),
    Example(
        says="a group's label keys have a prefix or no slash",
        rule=groups.LABEL_KEY,
        good=worker(labels={"zone": ""}),
        bad=worker(labels={"/zone": ""}),
        path="workerGroupSpecs[0].labels[/zone]",
        message="invalid label key for small group: '/zone', error: prefix part must be non-empty",
    ),
    Example(
        says="a group's label values are label values",
        rule=groups.LABEL_VALUE,
        good=worker(labels={"zone": "a.b_c-1"}),
        bad=worker(labels={"zone": "a b"}),
        path="workerGroupSpecs[0].labels[zone]",
        message=f"invalid label value for key 'zone' in small group: 'a b', error: {LABEL_VALUE}",
    ),
    Example(
        says="a group's idle time is not negative",
        rule=groups.IDLE_NEGATIVE,
        good=both(V2, worker(idleTimeoutSeconds=0)),
        bad=both(V2, worker(idleTimeoutSeconds=-1)),
        path="workerGroupSpecs[0].idleTimeoutSeconds",
        message="worker group small: idleTimeoutSeconds must be non-negative, got -1",
    ),
    Example(
        says="a group's idle time needs autoscaler v2",
        rule=groups.IDLE_NEEDS_V2,
        good=both(
            {"enableInTreeAutoscaling": True}, head_env(RAY_enable_autoscaler_v2="1"), worker(idleTimeoutSeconds=0)
        ),
        bad=worker(idleTimeoutSeconds=0),
        path="workerGroupSpecs[0].idleTimeoutSeconds",
        message="worker group small: idleTimeoutSeconds is set, but autoscaler v2 is not enabled. Please set "
        ".spec.autoscalerOptions.version to 'v2' (or set RAY_enable_autoscaler_v2 environment variable to 'true' in "
        "the head pod if using KubeRay < 1.4.0)",
    ),
    Example(
        says="a priority needs a Ray version",
        rule=groups.PRIORITY_WITHOUT_VERSION,
        good=both({"rayVersion": ""}, V2, worker(priority=0)),
        bad=both({"rayVersion": ""}, V2, worker(priority=1)),
        path="rayVersion",
        message="worker group small: priority is set, but RayVersion was not specified. Ray version 2.56.0 or later "
        "is required",
    ),
    Example(
        says="a priority needs a readable Ray version",
        rule=groups.PRIORITY_VERSION_UNREADABLE,
        good=both({"rayVersion": "v2.56"}, V2, worker(priority=1)),
        bad=both({"rayVersion": "nightly"}, V2, worker(priority=1)),
        path="rayVersion",
        message="worker group small: priority is set, but RayVersion format is invalid: nightly, "
        'could not parse "nightly" as version',
    ),
    Example(
        says="a priority needs Ray 2.56.0",
        rule=groups.PRIORITY_VERSION_OLD,
        good=both({"rayVersion": "2.56.0rc1"}, V2, worker(priority=-1)),
        bad=both({"rayVersion": "2.55.9"}, V2, worker(priority=-1)),
        path="rayVersion",
        message="worker group small: priority is set, but minimum Ray version is 2.56.0, got 2.55.9",
    ),
    Example(
        says="a priority needs autoscaler v2",
        rule=groups.PRIORITY_NEEDS_V2,
        good=both(V2, worker(priority=7)),
        bad=worker(priority=7),
        path="workerGroupSpecs[0].priority",
        message="worker group small: priority is set to 7, but autoscaler v2 is not enabled. Priority is only "
        "supported with autoscaler v2 enabled",
    ),
)
