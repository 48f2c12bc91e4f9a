"""Examples of the rules that RayServices have of their own, as whole manifests."""

from manta_common.validation import service
from manta_common.validation.problem import Rule
from tests.examples import manifests
from tests.examples.example import Example, Json
from tests.examples.manifests import both, head

TIMEOUT = "ray.io/initializing-timeout"
INCREMENTAL: Json = {
    "rayClusterConfig": {"enableInTreeAutoscaling": True},
    "upgradeStrategy": {
        "type": "NewClusterWithIncrementalUpgrade",
        "clusterUpgradeOptions": {"stepSizePercent": 10, "intervalSeconds": 5, "gatewayClassName": "istio"},
    },
}


def _pace(**fields: object) -> Json:
    return both(INCREMENTAL, {"upgradeStrategy": {"clusterUpgradeOptions": fields}})


def _timeout(says: str, rule: Rule, value: str, message: str) -> Example:
    return Example(
        says=f"RayService: an initializing timeout is {says}",
        rule=rule,
        good=manifests.service(annotations={TIMEOUT: "1h30m"}),
        bad=manifests.service(annotations={TIMEOUT: value}),
        path=f"metadata.annotations[{TIMEOUT}]",
        message="The RayService metadata is invalid: RayService annotations is invalid: "
        f"annotation ray.io/initializing-timeout {message}",
    )


def _upgrade(says: str, rule: Rule, bad: Json, path: str, message: str) -> Example:
    return Example(
        says=f"RayService: {says}",
        rule=rule,
        good=manifests.service(INCREMENTAL),
        bad=manifests.service(bad),
        path=f"spec.{path}",
        message=f"The RayService spec is invalid: {message}",
    )


OPTIONS = "upgradeStrategy.clusterUpgradeOptions"
EXAMPLES = (
    _timeout("longer than nothing", service.TIMEOUT_DURATION, "0", "must be a positive duration, got: 0"),
    _timeout("not negative", service.TIMEOUT_DURATION, "-5m", "must be a positive duration, got: -5m"),
    _timeout("not a negative number", service.TIMEOUT_SECONDS, "-5", "must be a positive integer (seconds), got: -5"),
    _timeout(
        "readable",
        service.TIMEOUT_UNREADABLE,
        "5 minutes",
        "has invalid format: 5 minutes. Expected Go duration format (e.g., '5m', '1h') or positive integer seconds",
    ),
    Example(
        says="RayService: its cluster does not take Kubernetes' tokens",
        rule=service.K8S_TOKENS,
        good=manifests.service({"rayClusterConfig": {"authOptions": {"enableK8sTokenAuth": False}}}),
        bad=manifests.service({"rayClusterConfig": {"authOptions": {"mode": "token", "enableK8sTokenAuth": True}}}),
        path="spec.rayClusterConfig.authOptions.enableK8sTokenAuth",
        message="The RayService spec is invalid: K8s token auth mode is currently not supported for RayService",
    ),
    Example(
        says="RayService: its head Service has no name of the user's",
        rule=service.HEAD_SERVICE_NAMED,
        good=manifests.service({"rayClusterConfig": head(headService={"metadata": {"labels": {"a": "b"}}})}),
        bad=manifests.service({"rayClusterConfig": head(headService={"metadata": {"name": "mine"}})}),
        path="spec.rayClusterConfig.headGroupSpec.headService.metadata.name",
        message="The RayService spec is invalid: spec.rayClusterConfig.headGroupSpec.headService.metadata.name should "
        "not be set",
    ),
    Example(
        says="RayService: its upgrade type is known",
        rule=service.UPGRADE_TYPE,
        good=manifests.service({"upgradeStrategy": {"type": "None"}}),
        bad=manifests.service({"upgradeStrategy": {"type": "Sometimes"}}),
        path="spec.upgradeStrategy.type",
        message="The RayService spec is invalid: Spec.UpgradeStrategy.Type value Sometimes is invalid, valid options "
        "are NewClusterWithIncrementalUpgrade, NewCluster, or None",
    ),
    _upgrade(
        "an incremental upgrade needs the autoscaler",
        service.UPGRADE_AUTOSCALING,
        both(INCREMENTAL, {"rayClusterConfig": {"enableInTreeAutoscaling": False}}),
        "rayClusterConfig.enableInTreeAutoscaling",
        "Ray Autoscaler is required for NewClusterWithIncrementalUpgrade",
    ),
    _upgrade(
        "an incremental upgrade needs options",
        service.UPGRADE_OPTIONS,
        {
            "rayClusterConfig": {"enableInTreeAutoscaling": True},
            "upgradeStrategy": {"type": "NewClusterWithIncrementalUpgrade"},
        },
        OPTIONS,
        "ClusterUpgradeOptions are required for NewClusterWithIncrementalUpgrade",
    ),
    _upgrade(
        "a surge is a percentage",
        service.MAX_SURGE,
        _pace(maxSurgePercent=101),
        f"{OPTIONS}.maxSurgePercent",
        "maxSurgePercent must be between 0 and 100",
    ),
    _upgrade(
        "a step is a percentage",
        service.STEP_SIZE,
        _pace(stepSizePercent=-1),
        f"{OPTIONS}.stepSizePercent",
        "stepSizePercent must be between 0 and 100",
    ),
    _upgrade(
        "a step is not larger than the surge",
        service.STEP_ABOVE_SURGE,
        _pace(maxSurgePercent=20, stepSizePercent=21),
        f"{OPTIONS}.stepSizePercent",
        "stepSizePercent must be less than or equal to maxSurgePercent",
    ),
    _upgrade(
        "there is time between two steps",
        service.INTERVAL,
        _pace(intervalSeconds=0),
        f"{OPTIONS}.intervalSeconds",
        "intervalSeconds must be greater than 0",
    ),
    _upgrade(
        "an incremental upgrade needs a gateway class",
        service.GATEWAY_CLASS,
        _pace(gatewayClassName=""),
        f"{OPTIONS}.gatewayClassName",
        "gatewayClassName is required for NewClusterWithIncrementalUpgrade",
    ),
)
