"""Questions about rights and tokens, which are asked by creating an object that is never stored."""

from datetime import UTC, datetime
from typing import Any

from manta_common.keys import Key
from manta_common.kinds import SERVICEACCOUNT, Kind
from manta_embedded.api.asked import Asked
from manta_embedded.api.rights import Rights
from manta_embedded.api.users import ISSUER, MASTERS, Tokens, User
from manta_embedded.store import errors
from manta_embedded.store.kinds import Served
from manta_embedded.store.objects import EMPTY, Obj, at_path
from manta_embedded.store.store import Store
from manta_embedded.store.times import text_of

AUTHENTICATION, AUTHORIZATION = "authentication.k8s.io", "authorization.k8s.io"
ATTRIBUTES = ("resourceAttributes", "nonResourceAttributes")
HOUR, SHORTEST_SECONDS = 3600, 600


def _kind(group: str, name: str, *, namespaced: bool = False) -> Served:
    kind = Kind(name.lower(), name, f"{name.lower()}s", group, namespaced=namespaced)
    return Served(kind=kind, storage=(group, kind.plural))


TOKENREQUEST = Served(kind=Kind("tokenrequest", "TokenRequest", "tokenrequests", AUTHENTICATION), storage=("", ""))
REVIEWS = {
    (served.kind.group, served.kind.plural): served
    for served in (
        _kind(AUTHENTICATION, "TokenReview"),
        _kind(AUTHENTICATION, "SelfSubjectReview"),
        _kind(AUTHORIZATION, "SubjectAccessReview"),
        _kind(AUTHORIZATION, "SelfSubjectAccessReview"),
        _kind(AUTHORIZATION, "SelfSubjectRulesReview"),
        _kind(AUTHORIZATION, "LocalSubjectAccessReview", namespaced=True),
    )
}


class Reviews:
    """Answers them."""

    def __init__(self, store: Store, rights: Rights, tokens: Tokens) -> None:
        self._store, self._rights, self._tokens = store, rights, tokens

    def answer(self, served: Served, body: Obj, user: User) -> Obj:
        """The review with its status."""
        spec = _spec(body)
        return {
            "kind": served.kind.kind,
            "apiVersion": served.kind.api_version,
            "metadata": {"creationTimestamp": None},
            "spec": spec,
            "status": self._status(served.kind.kind, spec, user),
        }

    def token(self, key: Key, body: Obj) -> Obj:
        """A token for a service account (`kubectl create token`)."""
        account = self._store.get(SERVICEACCOUNT, key)
        seconds = _spec(body).get("expirationSeconds") or HOUR
        if not isinstance(seconds, int):
            raise errors.bad_request("spec.expirationSeconds is a number")
        if seconds < SHORTEST_SECONDS:
            text = f"spec.expirationSeconds: Invalid value: {seconds}: may not specify a duration less than 10 minutes"
            raise errors.StatusError(422, "Invalid", f'TokenRequest.authentication.k8s.io "" is invalid: {text}')
        audiences = at_path(body, "spec.audiences") or [ISSUER]
        token, ends_at = self._tokens.issue(account, seconds=seconds, audiences=audiences)
        return {
            "kind": "TokenRequest",
            "apiVersion": "authentication.k8s.io/v1",
            "metadata": {"name": key.name, "namespace": key.namespace, "creationTimestamp": text_of(self._store.now())},
            "spec": {"audiences": audiences, "expirationSeconds": seconds, "boundObjectRef": None},
            "status": {"token": token, "expirationTimestamp": text_of(datetime.fromtimestamp(ends_at, UTC))},
        }

    def _status(self, kind: str, spec: Obj, user: User) -> Any:
        match kind:
            case "SelfSubjectReview":
                return {"userInfo": _told(user)}
            case "TokenReview":
                return self._reviewed(spec)
            case "SelfSubjectRulesReview":
                return self._rules(user, spec.get("namespace", ""))
            case "SelfSubjectAccessReview":
                return self._access(user, spec)
        other = User(spec.get("user", ""), tuple(spec.get("groups") or ()))
        return self._access(other, spec)

    def _access(self, user: User, spec: Obj) -> Obj:
        if self._rights.allows(user, _asked(spec)):
            return (
                {"allowed": True} if MASTERS in user.groups else {"allowed": True, "reason": "RBAC: allowed by a rule"}
            )
        return {"allowed": False}

    def _rules(self, user: User, namespace: str) -> Obj:
        found = list(self._rights.rules(user, namespace))
        if MASTERS in user.groups:
            everything = {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}
            found = [everything, {"verbs": ["*"], "nonResourceURLs": ["*"]}, *found]
        return {
            "resourceRules": [rule for rule in found if "nonResourceURLs" not in rule],
            "nonResourceRules": [rule for rule in found if "nonResourceURLs" in rule],
            "incomplete": False,
        }

    def _reviewed(self, spec: Obj) -> Obj:
        user = self._tokens.user(spec.get("token", ""))
        if user is None:
            return {"user": {}, "error": "invalid bearer token"}
        return {"authenticated": True, "user": _told(user), "audiences": spec.get("audiences") or [ISSUER]}


def _spec(body: Obj) -> Obj:
    spec = body.get("spec") or EMPTY
    parts = [spec.get(name) or EMPTY for name in ATTRIBUTES] if isinstance(spec, dict) else [None]
    if not all(isinstance(part, dict) for part in parts):
        raise errors.bad_request("spec, and the attributes in it, are objects")
    found: Obj = spec
    return found


def _told(user: User) -> Obj:
    return {"username": user.name, "groups": list(user.groups)} | ({"uid": user.uid} if user.uid else {})


def _asked(spec: Obj) -> Asked:
    about, path = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
    if about is None:
        given = path or EMPTY
        return Asked(verb=given.get("verb", ""), path=given.get("path", ""))
    return Asked(
        verb=about.get("verb", ""),
        path="",
        group=about.get("group", ""),
        version=about.get("version", ""),
        resource=about.get("resource", "*"),
        namespace=about.get("namespace", ""),
        name=about.get("name", ""),
        subresource=about.get("subresource", ""),
    )
