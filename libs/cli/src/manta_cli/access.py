"""Whether somebody may do something, as the API server answers: oneself, or the accounts of an installation."""

import argparse
from typing import Any, Final

from manta_cli.session import Session
from manta_common.errors import Misconfigured
from manta_common.kinds import Kind
from manta_common.rights import Right

GROUP: Final = "authorization.k8s.io"
PREFIX: Final = "system:serviceaccount:"
_SELF: Final = Kind(
    "selfsubjectaccessreview", "SelfSubjectAccessReview", "selfsubjectaccessreviews", GROUP, namespaced=False
)
_OTHER: Final = Kind("subjectaccessreview", "SubjectAccessReview", "subjectaccessreviews", GROUP, namespaced=False)
_LOCAL: Final = Kind("localsubjectaccessreview", "LocalSubjectAccessReview", "localsubjectaccessreviews", GROUP)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The flag that names the accounts."""
    told = f"look at the rights of the accounts {PREFIX}NS:NAME<service> instead of one's own, as `helm test` does"
    parser.add_argument("--accounts", metavar="NS:NAME", default="", help=told)


async def may(session: Session, service: str, right: Right, verb: str) -> bool:
    """Whether a service has a right; without `--accounts` whether oneself has it."""
    asked = {"group": right.kind.group, "resource": right.kind.plural, "subresource": right.part, "verb": verb}
    namespace = session.options.namespace if right.kind.namespaced else ""
    if namespace:
        asked["namespace"] = namespace
    who = _who(session.options.accounts, service)
    kind = _SELF if not who else _LOCAL if namespace else _OTHER
    about = {"namespace": namespace} if kind.namespaced else {}
    body = {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": about}
    spec = {"resourceAttributes": asked, **who}
    answer = await session.kube.create(kind, about.get("namespace", ""), {**body, "spec": spec}, dict)
    return bool(answer.get("status", {}).get("allowed"))


def _who(accounts: str, service: str) -> dict[str, Any]:
    """The user and the groups that the API server knows an account by."""
    if not accounts:
        return {}
    namespace, colon, name = accounts.partition(":")
    if not (namespace and colon):
        raise Misconfigured(f"--accounts {accounts}: say NAMESPACE:PREFIX, such as manta-system:manta-")
    groups = ["system:serviceaccounts", f"system:serviceaccounts:{namespace}", "system:authenticated"]
    return {"user": f"{PREFIX}{namespace}:{name}{service}", "groups": groups}
