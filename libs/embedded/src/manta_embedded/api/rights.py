"""Who may do what: RBAC over the roles and bindings that are stored."""

from collections.abc import Iterable, Iterator

from manta_common.keys import Key
from manta_common.kinds import ROLE, ROLEBINDING
from manta_embedded.api.asked import Asked
from manta_embedded.api.users import MASTERS, User
from manta_embedded.store.builtin import CLUSTERROLE, CLUSTERROLEBINDING
from manta_embedded.store.errors import StatusError
from manta_embedded.store.objects import Obj
from manta_embedded.store.store import Store

ACCOUNT = "ServiceAccount"


class Rights:
    """Answers whether a user may do something."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def allows(self, user: User, asked: Asked) -> bool:
        """Whether some rule lets a user do it."""
        if MASTERS in user.groups:
            return True
        return any(_lets(rule, asked) for rule in self.rules(user, asked.namespace))

    def check(self, user: User, asked: Asked) -> None:
        """403 when no rule does."""
        if not self.allows(user, asked):
            raise forbidden(user, asked)

    def rules(self, user: User, namespace: str) -> Iterator[Obj]:
        """Every rule for a user, those of a namespace among them."""
        for binding in self._store.objects(CLUSTERROLEBINDING):
            if _is_for(binding, user):
                yield from self._bound(binding, "")
        for binding in self._store.objects(ROLEBINDING, namespace) if namespace else ():
            if _is_for(binding, user):
                yield from self._bound(binding, namespace)

    def _bound(self, binding: Obj, namespace: str) -> Iterable[Obj]:
        reference = binding.get("roleRef") or {}
        name = reference.get("name", "")
        if reference.get("kind") == "ClusterRole":
            found = self._store.find(CLUSTERROLE, Key("", name))
        else:
            found = self._store.find(ROLE, Key(namespace, name)) if namespace else None
        return (found or {}).get("rules") or ()


def forbidden(user: User, asked: Asked) -> StatusError:
    """The refusal, in the words of the API server."""
    if not asked.resource:
        return StatusError(
            403, "Forbidden", f'forbidden: User "{user.name}" cannot {asked.verb} path "{asked.path}"', {}
        )
    resource = f"{asked.resource}/{asked.subresource}" if asked.subresource else asked.resource
    where = f'in the namespace "{asked.namespace}"' if asked.namespace else "at the cluster scope"
    what = f'User "{user.name}" cannot {asked.verb} resource "{resource}" in API group "{asked.group}" {where}'
    plural = f"{asked.resource}.{asked.group}" if asked.group else asked.resource
    named = f'{plural} "{asked.name}"' if asked.name else plural
    details = {"name": asked.name, "group": asked.group, "kind": asked.resource}
    known = {name: value for name, value in details.items() if value}
    return StatusError(403, "Forbidden", f"{named} is forbidden: {what}", known)


def _is_for(binding: Obj, user: User) -> bool:
    return any(_is_user(subject, user, binding) for subject in binding.get("subjects") or ())


def _is_user(subject: Obj, user: User, binding: Obj) -> bool:
    name = subject.get("name", "")
    match subject.get("kind"):
        case "User":
            return bool(name == user.name)
        case "Group":
            return name in user.groups
        case "ServiceAccount":
            namespace = subject.get("namespace") or binding["metadata"].get("namespace", "")
            return user.name == f"system:serviceaccount:{namespace}:{name}"
    return False


def _lets(rule: Obj, asked: Asked) -> bool:
    verbs = rule.get("verbs") or ()
    if "*" not in verbs and asked.verb not in verbs:
        return False
    if not asked.resource:
        return any(_covers(path, asked.path) for path in rule.get("nonResourceURLs") or ())
    groups, names = rule.get("apiGroups") or (), rule.get("resourceNames") or ()
    if "*" not in groups and asked.group not in groups:
        return False
    return _names_resource(rule, asked) and (not names or asked.name in names)


def _names_resource(rule: Obj, asked: Asked) -> bool:
    wanted = f"{asked.resource}/{asked.subresource}" if asked.subresource else asked.resource
    given = rule.get("resources") or ()
    return "*" in given or wanted in given or bool(asked.subresource and f"*/{asked.subresource}" in given)


def _covers(pattern: str, path: str) -> bool:
    return pattern in ("*", path) or (pattern.endswith("*") and path.startswith(pattern[:-1]))
