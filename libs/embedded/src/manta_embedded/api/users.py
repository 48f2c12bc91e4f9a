"""Who asks: tokens of the administrator and of service accounts."""

import base64
import hashlib
import hmac
import time
from collections.abc import Callable
from typing import Any

import msgspec

from manta_common.keys import Key
from manta_common.kinds import SERVICEACCOUNT
from manta_embedded.store.store import Store

ISSUER = "https://kubernetes.default.svc"
ACCOUNT = "system:serviceaccount:"
AUTHENTICATED, UNAUTHENTICATED, MASTERS = "system:authenticated", "system:unauthenticated", "system:masters"
CACHED = 1000
HEADER = b'{"alg":"HS256","typ":"JWT"}'


class User(msgspec.Struct, frozen=True):
    """Someone who asks, and the groups that it is in."""

    name: str
    groups: tuple[str, ...] = ()
    uid: str = ""


ANONYMOUS = User("system:anonymous", (UNAUTHENTICATED,))
ADMIN = User("admin", (MASTERS, AUTHENTICATED), "admin")


class Tokens:
    """Knows every token: one for the administrator, and signed ones for service accounts, good while these exist."""

    def __init__(self, store: Store, *, admin: str, secret: bytes, now: Callable[[], float] = time.time) -> None:
        self._store, self._admin, self._secret, self._now = store, admin, secret, now
        self._read: dict[str, dict[str, Any]] = {}

    def user(self, token: str) -> User | None:
        """Whose token it is; None when it is nobody's, has ended or the account is gone."""
        if hmac.compare_digest(token.encode(errors="replace"), self._admin.encode()):
            return ADMIN
        claims = self._read.get(token) or self._claims(token)
        if claims is None or claims["exp"] <= self._now():
            return None
        account = claims["kubernetes.io"]
        name = account["serviceaccount"]["name"]
        found = self._store.find(SERVICEACCOUNT, Key(account["namespace"], name))
        if found is None or found["metadata"]["uid"] != account["serviceaccount"]["uid"]:
            return None
        return account_user(account["namespace"], name, account["serviceaccount"]["uid"])

    def issue(self, account: dict[str, Any], *, seconds: int, audiences: list[str]) -> tuple[str, int]:
        """A token for a service account, and when it ends."""
        meta, now = account["metadata"], int(self._now())
        claims = {
            "aud": audiences,
            "exp": now + seconds,
            "iat": now,
            "iss": ISSUER,
            "kubernetes.io": {
                "namespace": meta["namespace"],
                "serviceaccount": {"name": meta["name"], "uid": meta["uid"]},
            },
            "sub": f"{ACCOUNT}{meta['namespace']}:{meta['name']}",
        }
        head = f"{_coded(HEADER)}.{_coded(msgspec.json.encode(claims))}"
        return f"{head}.{self._signature(head)}", now + seconds

    def _claims(self, token: str) -> dict[str, Any] | None:
        head, _, signature = token.rpartition(".")
        if not head or not hmac.compare_digest(signature.encode(errors="replace"), self._signature(head).encode()):
            return None
        body = head.partition(".")[2]
        claims: dict[str, Any] = msgspec.json.decode(base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)))
        if len(self._read) > CACHED:
            self._read.clear()
        self._read[token] = claims
        return claims

    def _signature(self, head: str) -> str:
        return _coded(hmac.new(self._secret, head.encode(errors="replace"), hashlib.sha256).digest())


def account_user(namespace: str, name: str, uid: str = "") -> User:
    """A service account as a user."""
    groups = ("system:serviceaccounts", f"system:serviceaccounts:{namespace}", AUTHENTICATED)
    return User(f"{ACCOUNT}{namespace}:{name}", groups, uid)


def _coded(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")
