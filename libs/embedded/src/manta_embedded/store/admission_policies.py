"""ValidatingAdmissionPolicies: rules in CEL about whole objects, put into force by their bindings."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from manta_embedded.store.admission import Review
from manta_embedded.store.errors import StatusError, forbidden
from manta_embedded.store.objects import Obj
from manta_embedded.store.schema.expressions import CelError, Expressions

_VARIABLE: Final = re.compile(r"\bvariables\.([A-Za-z_][A-Za-z0-9_]*)")
CODES: Final = {"Unauthorized": 401, "Forbidden": 403, "Invalid": 422, "RequestEntityTooLarge": 413}


class Policies:
    """An admission by policies and bindings as they are written in a file; selectors of bindings are not known here."""

    def __init__(self, documents: Sequence[Obj]) -> None:
        self._expressions = Expressions("object", "oldObject", "request", "variables", "params")
        named = {one["metadata"]["name"]: one for one in documents if one["kind"] == "ValidatingAdmissionPolicy"}
        bindings = [one for one in documents if one["kind"] == "ValidatingAdmissionPolicyBinding"]
        self._bound = [(named[one["spec"]["policyName"]], one["metadata"]["name"]) for one in bindings]

    def admit(self, review: Review) -> Obj | None:
        """The object as it is; the refusal of the first rule that it breaks."""
        for policy, binding in self._bound:
            if review.new is not None and _is_about(policy, review):
                self._judge(policy, binding, review)
        return review.new

    def _judge(self, policy: Obj, binding: str, review: Review) -> None:
        case = _Case(self._expressions, policy["spec"].get("variables") or (), _given(review))
        lenient = policy["spec"].get("failurePolicy") == "Ignore"
        try:
            if not all(case.value(one["expression"]) is True for one in policy["spec"].get("matchConditions") or ()):
                return
        except CelError as error:
            if lenient:
                return
            raise _denied(policy, binding, review, f"match condition resulted in error: {error}") from error
        for rule in policy["spec"]["validations"]:
            said = _complaint(case, rule, lenient=lenient)
            if said is not None:
                raise _denied(policy, binding, review, said, reason=rule.get("reason", "Invalid"))


class _Case:
    """One object before a policy; a variable is worked out when it is first used, and only then."""

    def __init__(self, expressions: Expressions, variables: Sequence[Obj], given: Mapping[str, Any]) -> None:
        self._expressions, self._given = expressions, given
        self._texts = {one["name"]: one["expression"] for one in variables}
        self._known: dict[str, Any] = {}

    def value(self, text: str) -> Any:
        """What an expression yields; CelError when it, or a variable that it cannot do without, has no value."""
        names = _VARIABLE.findall(text)
        for name in names:
            if name in self._texts:
                self._work_out(name, self._texts.pop(name))
        # Only what is named is handed over: to make CEL values of a whole object costs more than any rule.
        given = {name: value for name, value in self._given.items() if name in text}
        used = {name: self._known[name] for name in names if name in self._known}
        return self._expressions.evaluate(text, {**given, "variables": used})

    def _work_out(self, name: str, text: str) -> None:
        try:
            self._known[name] = self.value(text)
        except CelError:
            self._known.pop(name, None)  # it is missed only where it is needed


def _complaint(case: _Case, rule: Obj, *, lenient: bool) -> str | None:
    try:
        if case.value(rule["expression"]) is True:
            return None
        if rule.get("messageExpression"):
            return str(case.value(rule["messageExpression"])).strip()
    except CelError as error:
        return None if lenient else f"expression '{rule['expression']}' resulted in error: {error}"
    return rule.get("message") or f"failed expression: {rule['expression'].strip()}"


def _is_about(policy: Obj, review: Review) -> bool:
    kind = review.served.kind
    resource = f"{kind.plural}/{review.subresource}" if review.subresource else kind.plural
    return any(
        _any_of(rule["apiGroups"], kind.group)
        and _any_of(rule["apiVersions"], kind.version)
        and _any_of(rule["operations"], review.operation)
        and _any_of(rule["resources"], resource)
        for rule in policy["spec"]["matchConstraints"]["resourceRules"]
    )


def _any_of(words: Sequence[str], word: str) -> bool:
    return word in words or "*" in words


def _given(review: Review) -> dict[str, Any]:
    request = {"operation": review.operation, "name": review.key.name, "namespace": review.key.namespace}
    return {"object": review.new, "oldObject": review.old, "request": request, "params": None}


def _denied(policy: Obj, binding: str, review: Review, message: str, *, reason: str = "Invalid") -> StatusError:
    name = policy["metadata"]["name"]
    text = f"ValidatingAdmissionPolicy '{name}' with binding '{binding}' denied request: {message}"
    refused = forbidden(review.served, review.key.name, text)
    details = {**refused.details, "causes": [{"message": message}]}
    return StatusError(CODES.get(reason, 422), reason, refused.message, details)
