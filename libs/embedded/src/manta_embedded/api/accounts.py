"""Every namespace has a service account and the certificate of the API's authority."""

from datetime import datetime

from manta_common.keys import Key
from manta_common.kinds import CONFIGMAP, NAMESPACE, SERVICEACCOUNT
from manta_embedded.store.changes import Event
from manta_embedded.store.controllers.agenda import Agenda
from manta_embedded.store.objects import is_terminating
from manta_embedded.store.store import Store
from manta_embedded.store.writers import Writer

ACCOUNT, AUTHORITY = "default", "kube-root-ca.crt"
ROOT_CA = "kube-controller-manager"
TEXT = (
    "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the"
    " internal service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of Kubernetes"
    " clusters."
)


class Accounts:
    """A controller."""

    def __init__(self, store: Store, ca: str) -> None:
        self._store, self._ca = store, ca
        self._agenda: Agenda[str] = Agenda()
        for namespace in store.objects(NAMESPACE):
            self._agenda.add(namespace["metadata"]["name"])
        store.subscribe(self._note)

    def step(self) -> bool:
        """See to one namespace; False when none waits."""
        name = self._agenda.take(self._store.now())
        if name is None:
            return False
        namespace = self._store.find(NAMESPACE, Key("", name))
        if namespace is not None and not is_terminating(namespace):
            self._complete(name)
        return True

    def due(self) -> datetime | None:
        """When there is work."""
        return self._agenda.due(self._store.now())

    def _complete(self, name: str) -> None:
        if self._store.find(SERVICEACCOUNT, Key(name, ACCOUNT)) is None:
            self._store.create(SERVICEACCOUNT, name, {"metadata": {"name": ACCOUNT}}, Writer(ROOT_CA))
        found = self._store.find(CONFIGMAP, Key(name, AUTHORITY))
        body = {"metadata": {"name": AUTHORITY, "annotations": {"kubernetes.io/description": TEXT}}}
        wanted = {**body, "data": {"ca.crt": self._ca}}
        if found is None:
            self._store.create(CONFIGMAP, name, wanted, Writer(ROOT_CA))
        elif found.get("data") != wanted["data"]:
            self._store.update(CONFIGMAP, Key(name, AUTHORITY), wanted, Writer(ROOT_CA))

    def _note(self, event: Event) -> None:
        match event.storage[1]:
            case "namespaces":
                self._agenda.add(event.key.name)
            case "serviceaccounts" if event.type == "DELETED" and event.key.name == ACCOUNT:
                self._agenda.add(event.key.namespace)
            case "configmaps" if event.key.name == AUTHORITY and event.type != "ADDED":
                self._agenda.add(event.key.namespace)
