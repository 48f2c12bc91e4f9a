"""The pods behind a service, as endpoint slices."""

from datetime import datetime

from manta_common.keys import Key
from manta_common.kinds import ENDPOINTSLICE, POD, SERVICE
from manta_common.kube.protocol import MergePatch
from manta_embedded.store import naming
from manta_embedded.store.changes import Event
from manta_embedded.store.controllers.agenda import Agenda
from manta_embedded.store.objects import EMPTY, Obj, at_path, is_terminating
from manta_embedded.store.store import Store
from manta_embedded.store.writers import Writer

CONTROLLER = "endpointslice-controller.k8s.io"
WRITER = Writer("kube-controller-manager")
OF, BY, HEADLESS = (
    "kubernetes.io/service-name",
    "endpointslice.kubernetes.io/managed-by",
    "service.kubernetes.io/headless",
)


class EndpointSlices:
    """A controller: one slice for a service with a selector."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._agenda: Agenda[Key] = Agenda()
        self._selectors: dict[str, dict[Key, Obj]] = {}  # by namespace
        self._slices: dict[Key, Key] = {}
        for service in store.objects(SERVICE):
            self._learn(_key(service), service)
        store.subscribe(self._note)

    def step(self) -> bool:
        """See to one service; False when none waits."""
        key = self._agenda.take(self._store.now())
        if key is None:
            return False
        service = self._store.find(SERVICE, key)
        if service is not None and at_path(service, "spec.selector"):
            self._write(key, service)
        return True

    def due(self) -> datetime | None:
        """When there is work."""
        return self._agenda.due(self._store.now())

    def _note(self, event: Event) -> None:
        match event.storage:
            case ("", "services"):
                if event.type == "DELETED":
                    self._selectors.get(event.key.namespace, {}).pop(event.key, None)
                    self._slices.pop(event.key, None)
                else:
                    self._learn(event.key, event.new)
            case ("", "pods"):
                for pod in (event.old, event.new):
                    if pod is not None:
                        self._pod_changed(pod)

    def _learn(self, key: Key, service: Obj) -> None:
        self._selectors.setdefault(key.namespace, {})[key] = at_path(service, "spec.selector") or EMPTY
        self._agenda.add(key)

    def _pod_changed(self, pod: Obj) -> None:
        labels, namespace = pod["metadata"].get("labels") or EMPTY, pod["metadata"]["namespace"]
        for key, selector in self._selectors.get(namespace, {}).items():
            if selector and selector.items() <= labels.items():
                self._agenda.add(key)

    def _write(self, key: Key, service: Obj) -> None:
        selector = service["spec"]["selector"]
        pods = [
            pod
            for pod in self._store.objects(POD, key.namespace)
            if selector.items() <= (pod["metadata"].get("labels") or EMPTY).items() and at_path(pod, "status.podIP")
        ]
        wanted: Obj = {"endpoints": [_endpoint(pod, service) for pod in pods if _counts(pod)]}
        wanted["ports"] = [_port(port, pods) for port in service["spec"].get("ports") or ()]
        found = self._own(key, service)
        if found is None:
            made = self._store.create(ENDPOINTSLICE, key.namespace, {**self._blank(service), **wanted}, WRITER)
            self._slices[key] = _key(made)
        elif any((found.get(part) or []) != value for part, value in wanted.items()):
            self._store.patch(ENDPOINTSLICE, _key(found), MergePatch(wanted), WRITER)

    def _own(self, key: Key, service: Obj) -> Obj | None:
        """The slice of a service; the others of its namespace are looked through only once."""
        uid = service["metadata"]["uid"]
        known = self._store.find(ENDPOINTSLICE, self._slices[key]) if key in self._slices else None
        if known is not None and _is_owned(known, uid):
            return known
        for found in self._store.objects(ENDPOINTSLICE, key.namespace):
            if _is_owned(found, uid):
                self._slices[key] = _key(found)
                return found
        return None

    def _blank(self, service: Obj) -> Obj:
        meta = service["metadata"]
        owner = {"apiVersion": "v1", "kind": "Service", "name": meta["name"], "uid": meta["uid"]}
        labels = {**(meta.get("labels") or EMPTY), OF: meta["name"], BY: CONTROLLER}
        if service["spec"].get("clusterIP") == "None":
            labels[HEADLESS] = ""
        return {
            "metadata": {
                "name": naming.made_up(self._store.rng, f"{meta['name']}-"),
                "generateName": f"{meta['name']}-",
                "labels": labels,
                "ownerReferences": [{**owner, "controller": True, "blockOwnerDeletion": True}],
            },
            "addressType": "IPv4",
        }


def _is_owned(obj: Obj, uid: str) -> bool:
    return any(owner["uid"] == uid for owner in obj["metadata"].get("ownerReferences") or ())


def _counts(pod: Obj) -> bool:
    return at_path(pod, "status.phase") not in ("Succeeded", "Failed")


def _endpoint(pod: Obj, service: Obj) -> Obj:
    conditions = at_path(pod, "status.conditions") or ()
    serving = any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)
    terminating = is_terminating(pod)
    ready = bool(service["spec"].get("publishNotReadyAddresses")) or (serving and not terminating)
    meta = pod["metadata"]
    found: Obj = {
        "addresses": [pod["status"]["podIP"]],
        "conditions": {"ready": ready, "serving": serving, "terminating": terminating},
        "targetRef": {"kind": "Pod", "namespace": meta["namespace"], "name": meta["name"], "uid": meta["uid"]},
    }
    if node := at_path(pod, "spec.nodeName"):
        found["nodeName"] = node
    return found


def _port(port: Obj, pods: list[Obj]) -> Obj:
    """A port of a service as its pods have it; one by name is looked up in the first pod that has it."""
    target = port.get("targetPort", port["port"])
    if isinstance(target, str):
        named = (
            one["containerPort"]
            for pod in pods
            for container in pod["spec"]["containers"]
            for one in container.get("ports") or ()
            if one.get("name") == target
        )
        target = next(named, port["port"])
    found = {"name": port.get("name", ""), "port": target, "protocol": port.get("protocol", "TCP")}
    return found | ({"appProtocol": port["appProtocol"]} if "appProtocol" in port else {})


def _key(obj: Obj) -> Key:
    return Key(obj["metadata"]["namespace"], obj["metadata"]["name"])
