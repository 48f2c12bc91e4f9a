"""Reads from a cluster what a move from KubeRay depends on. What may not be read is told, not guessed."""

import pathlib
from collections.abc import Mapping
from typing import Any, Final, TypeVar

import yaml

from manta_cli.migration import helm
from manta_cli.migration.flags import told
from manta_cli.migration.found import Definition, Deployment, Found, Operator, RayObject
from manta_common.crd import kubernetes
from manta_common.crd.definitions import KINDS, definition
from manta_common.errors import NotFound, Refused
from manta_common.keys import Key
from manta_common.kinds import CONFIGMAP, CRD, RAYCLUSTER, RAYCRONJOB, RAYJOB, RAYSERVICE, SECRET, Kind
from manta_common.kube.protocol import EVERYTHING, Kube, Scope

DEPLOYMENT: Final = Kind("deployment", "Deployment", "deployments", "apps")
CLUSTERROLE: Final = Kind("clusterrole", "ClusterRole", "clusterroles", "rbac.authorization.k8s.io", namespaced=False)
WEBHOOK: Final = Kind(
    "validatingwebhookconfiguration",
    "ValidatingWebhookConfiguration",
    "validatingwebhookconfigurations",
    "admissionregistration.k8s.io",
    namespaced=False,
)
RAY: Final = (RAYCLUSTER, RAYJOB, RAYSERVICE, RAYCRONJOB)
OPERATOR: Final = "kuberay-operator"
NAMES: Final = ("app.kubernetes.io/name", "app.kubernetes.io/component")
IMAGE: Final = "kuberay/operator"
PEOPLE: Final = "rayjob-editor-role"
RELEASE: Final = "meta.helm.sh/release-name"
T = TypeVar("T")


class Inspector:
    """One look at a cluster."""

    def __init__(self, kube: Kube) -> None:
        self._kube = kube
        self._unread: list[str] = []

    async def found(self) -> Found:
        """All that there is."""
        deployments = [one for one in await self._list(DEPLOYMENT, Deployment) if operator_container(one)]
        return Found(
            operators=tuple([await self._operator(one) for one in deployments]),
            definitions=await self._definitions(),
            objects={kind.plural: await self._list(kind, RayObject) for kind in RAY},
            webhooks=tuple(one["metadata"]["name"] for one in await self._list(WEBHOOK, dict) if is_ours(one)),
            roles=(PEOPLE,) if await self._get(CLUSTERROLE, Key("", PEOPLE)) else (),
            unread=tuple(self._unread),
        )

    async def _operator(self, deployment: Deployment) -> Operator:
        container = operator_container(deployment) or {}
        return Operator(
            deployment=deployment,
            container=container,
            file=await self._file(deployment, container),
            values=await self._values(deployment),
        )

    async def _file(self, deployment: Deployment, container: Mapping[str, Any]) -> dict[str, Any]:
        """The configuration file, when it lies in a ConfigMap that is mounted whole."""
        path = told([*container.get("command", ())[1:], *container.get("args", ())], {}).text("config")
        name = config_map(deployment, container, path) if path else ""
        found = await self._get(CONFIGMAP, Key(deployment.metadata.namespace, name)) if name else None
        text = (found or {}).get("data", {}).get(pathlib.PurePath(path).name, "")
        try:
            file = yaml.safe_load(text)
        except yaml.YAMLError:
            return {}
        return file if isinstance(file, dict) else {}

    async def _values(self, deployment: Deployment) -> dict[str, Any] | None:
        release = deployment.metadata.annotations.get(RELEASE)
        if not release:
            return {}  # not installed by helm: the Deployment tells all
        labels = f"owner=helm,name={release},status=deployed"
        scope = Scope(namespace=deployment.metadata.namespace, labels=labels)
        return helm.given([one for one in await self._list(SECRET, dict, scope) if "data" in one])

    async def _definitions(self) -> tuple[Definition, ...]:
        known = kubernetes.load()
        found = []
        for kind in KINDS:
            ours = definition(kind, known)
            crd = await self._get(CRD, Key("", ours["metadata"]["name"]))
            if crd is not None:
                found.append(compared(crd, ours))
        return tuple(found)

    async def _get(self, kind: Kind, key: Key) -> dict[str, Any] | None:
        try:
            return await self._kube.get(kind, key, dict)
        except NotFound:
            return None
        except Refused:
            self._unread.append(f"{kind.plural} {key.name}")
            return None

    async def _list(self, kind: Kind, into: type[T], scope: Scope = EVERYTHING) -> tuple[T, ...]:
        try:
            return (await self._kube.list(kind, into, scope)).items
        except NotFound:  # the API does not have this kind
            return ()
        except Refused:
            self._unread.append(kind.plural + (f" of {scope.namespace}" if scope.namespace else ""))
            return ()


def compared(crd: Mapping[str, Any], ours: Mapping[str, Any]) -> Definition:
    """A CRD as it is, and whether it has every field that Manta's has."""
    versions = {one["name"]: one for one in crd["spec"]["versions"]}
    (mine,) = (one for one in ours["spec"]["versions"] if one["name"] == "v1")
    there = _fields(versions.get("v1", {}).get("schema", {}).get("openAPIV3Schema", {}))
    return Definition(
        name=crd["metadata"]["name"],
        served=tuple(name for name, one in versions.items() if one.get("served")),
        stored=tuple(crd.get("status", {}).get("storedVersions", ())),
        current=_fields(mine["schema"]["openAPIV3Schema"]) <= there,
    )


def _fields(schema: Mapping[str, Any], path: str = "") -> set[str]:
    """The paths of all fields of a schema."""
    found = {path}
    for name, one in schema.get("properties", {}).items():
        found |= _fields(one, f"{path}.{name}")
    return found | (_fields(schema["items"], f"{path}[]") if "items" in schema else set())


def operator_container(deployment: Deployment) -> dict[str, Any] | None:
    """The container of a KubeRay operator, by its image or, where that is a copy, by name and labels."""
    spec = deployment.spec.template.get("spec", {})
    containers: list[dict[str, Any]] = spec.get("containers", [])
    named = any(deployment.metadata.labels.get(name) == OPERATOR for name in NAMES)
    for one in containers:
        if IMAGE in str(one.get("image", "")) or named or one.get("name") == OPERATOR:
            return one
    return None


def config_map(deployment: Deployment, container: Mapping[str, Any], path: str) -> str:
    """The ConfigMap that a file of a container comes from; nothing when it comes from elsewhere."""
    folder = str(pathlib.PurePath(path).parent)
    mounts = {
        one["name"] for one in container.get("volumeMounts") or () if one.get("mountPath", "").rstrip("/") == folder
    }
    volumes = deployment.spec.template.get("spec", {}).get("volumes") or ()
    return next((one["configMap"]["name"] for one in volumes if one["name"] in mounts and "configMap" in one), "")


def is_ours(configuration: Mapping[str, Any]) -> bool:
    """Whether a webhook configuration is KubeRay's, by the paths that it asks."""
    paths = (
        str(hook.get("clientConfig", {}).get("service", {}).get("path", ""))
        for hook in configuration.get("webhooks") or ()
    )
    return any(path.startswith("/validate-ray-io-") for path in paths)
