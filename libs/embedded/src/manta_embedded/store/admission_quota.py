"""ResourceQuota: a write that would use more of something than its namespace may is refused."""

from typing import Final

from manta_embedded.store import errors
from manta_embedded.store.admission import Review
from manta_embedded.store.controllers.quota_usage import (
    CLAIMS,
    PODS,
    SERVICES,
    Usage,
    added,
    concerns,
    increase,
    matches,
    missing,
    usage,
)
from manta_embedded.store.controllers.quotas import STORAGE, used_of
from manta_embedded.store.objects import Obj
from manta_embedded.store.schema.quantities import parsed
from manta_embedded.store.store import Store

COUNTED_ON_UPDATE: Final = (SERVICES, CLAIMS)


class Quotas:
    """An admission. What is used is counted anew for each write, so that it is never behind."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def admit(self, review: Review) -> Obj | None:
        """The object as it is; 403 when a quota does not allow it."""
        if review.new is not None and review.key.namespace and _is_counted(review):
            for _, quota in list(self._store.bucket(STORAGE).all(review.key.namespace)):
                self._check(quota, review, review.new)
        return review.new

    def _check(self, quota: Obj, review: Review, new: Obj) -> None:
        storage, now = review.served.storage, self._store.now()
        asked = usage(storage, new, now)
        status = quota.get("status") or {}
        hard = status.get("hard") or quota["spec"].get("hard") or {}
        limited = {name: amount for name, amount in hard.items() if concerns(storage, name)}
        if not limited or not matches(quota, storage, new):
            return
        if storage == PODS and (lacking := missing(new, limited)):
            raise self._refusal(review, f"failed quota: {quota['metadata']['name']}: must specify {lacking}")
        if not limited.keys() <= (status.get("used") or {}).keys():
            names = ",".join(sorted(limited))
            raise self._refusal(review, f"status unknown for quota: {quota['metadata']['name']}, resources: {names}")
        more = increase(asked, usage(storage, review.old, now) if review.old else {})
        self._compare(quota, review, {name: amount for name, amount in more.items() if name in limited}, hard)

    def _compare(self, quota: Obj, review: Review, more: Usage, hard: dict[str, str]) -> None:
        used = used_of(self._store, quota, {name: hard[name] for name in more})
        sums = added(used, more)
        exceeded = sorted(name for name in more if sums[name].nanos > parsed(hard[name]).nanos)
        if exceeded:
            limits = {name: parsed(hard[name]) for name in exceeded}
            raise self._refusal(
                review,
                f"exceeded quota: {quota['metadata']['name']}, requested: {_shown(more, exceeded)}, "
                f"used: {_shown(used, exceeded)}, limited: {_shown(limits, exceeded)}",
            )

    def _refusal(self, review: Review, why: str) -> errors.StatusError:
        return errors.forbidden(review.served, review.key.name, why)


def _is_counted(review: Review) -> bool:
    if review.subresource:
        return False
    return review.operation == "CREATE" or review.served.storage in COUNTED_ON_UPDATE


def _shown(amounts: Usage, names: list[str]) -> str:
    return ",".join(f"{name}={amounts[name]}" for name in names)
