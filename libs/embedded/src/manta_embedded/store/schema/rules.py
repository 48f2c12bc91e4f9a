"""The CEL rules of a schema (`x-kubernetes-validations`), with messages, transitions and ratcheting."""

import re
from collections.abc import Iterator
from typing import Any, Final

import msgspec

from manta_embedded.store.errors import Cause
from manta_embedded.store.objects import Obj
from manta_embedded.store.schema import faults
from manta_embedded.store.schema.celvalues import cel_value, in_order_of
from manta_embedded.store.schema.expressions import CelError, CelSyntaxError, Expressions
from manta_embedded.store.schema.faults import NOWHERE, OMITTED
from manta_embedded.store.schema.node import Node
from manta_embedded.store.schema.values import UNRELATED, before, is_same

BLOCKING: Final = frozenset(
    ("FieldValueNotSupported", "FieldValueRequired", "FieldValueTooLong", "FieldValueTooMany", "FieldValueTypeInvalid")
)
NOT_CHECKED: Final = faults.invalid(
    NOWHERE,
    None,
    "some validation rules were not checked because the object was invalid; "
    "correct the existing errors to complete validation",
)
_STRINGS: Final = re.compile(r"'(?:\\.|[^'\\])*'|\"(?:\\.|[^\"\\])*\"")
_OPTIONAL: Final = "cel.bind(oldSelf, hasOldSelf ? optional.of(oldSelf) : optional.none(), {})"


class Spot(msgspec.Struct, frozen=True):
    """A value and what stood there before (None: nothing); `related` is what it is compared with to be let pass."""

    node: Node
    value: Any
    old: Any
    path: str
    related: Any
    parent: "Spot | None" = None

    def is_unchanged(self) -> bool:
        """Whether nothing has changed here, or in the next place above that can be compared."""
        if self.related is not UNRELATED:
            return is_same(self.related, self.value)
        return self.parent is not None and self.parent.is_unchanged()


class Rules:
    """Evaluates the rules of any schema; keeps what it compiled."""

    def __init__(self) -> None:
        self._expressions = Expressions("self", "oldSelf", "hasOldSelf")

    def faults(self, root: Node, new: Obj, old: Obj | None) -> list[Cause]:
        """What the rules say to an object, or to its change."""
        return list(self._visit(Spot(root, new, old, "", UNRELATED if old is None else old)))

    def _visit(self, spot: Spot) -> Iterator[Cause]:
        if spot.value is None or not spot.node.has_rules:
            return
        yield from self._own(spot)
        for part in _parts(spot):
            yield from self._visit(part)

    def _own(self, spot: Spot) -> Iterator[Cause]:
        rules = [rule for node in (spot.node, *spot.node.all_of) for rule in node.schema.get(_RULES) or ()]
        if not rules:
            return
        self_value = cel_value(spot.value, spot.node, root=not spot.path)
        old = in_order_of(spot.value, spot.old, spot.node)
        old_value = cel_value(old, spot.node, root=not spot.path)
        values = {"self": self_value, "oldSelf": old_value, "hasOldSelf": spot.old is not None}
        for rule in rules:
            yield from self._verdict(rule, spot, values)

    def _verdict(self, rule: Obj, spot: Spot, values: dict[str, Any]) -> Iterator[Cause]:
        text, transition = rule["rule"], _uses_old(rule["rule"])
        if rule.get("optionalOldSelf"):
            text = _OPTIONAL.format(text)
        elif transition and spot.old is None:
            return
        try:
            passed = self._expressions.evaluate(text, values)
        except CelError as error:
            yield _failure(rule, spot, error)
            return
        if passed is not True and (transition or not spot.is_unchanged()):
            yield self._refusal(rule, spot, values)

    def _refusal(self, rule: Obj, spot: Spot, values: dict[str, Any]) -> Cause:
        message = self._message(rule, values)
        path = ".".join(part for part in (spot.path, rule.get("fieldPath", "").removeprefix(".")) if part) or NOWHERE
        value = OMITTED if spot.node.type in ("object", "array") else spot.value
        match rule.get("reason"):
            case "FieldValueForbidden":
                return faults.forbidden(path, message)
            case "FieldValueRequired":
                return faults.required(path, message)
            case "FieldValueDuplicate":
                return faults.duplicate(path, value)
        return faults.invalid(path, value, message)

    def _message(self, rule: Obj, values: dict[str, Any]) -> str:
        """The message of a rule; one that an expression gives must be a line of text, else it does not count."""
        expression = rule.get("messageExpression")
        if expression:
            try:
                found = self._expressions.evaluate(expression, values)
            except CelError:
                found = ""
            if isinstance(found, str) and found.strip() and "\n" not in found.strip():
                return found.strip()
        message = rule.get("message", "").strip()
        return message or f"failed rule: {rule['rule'].strip()}"


_RULES: Final = "x-kubernetes-validations"


def _parts(spot: Spot) -> Iterator[Spot]:
    node, value = spot.node, spot.value
    if isinstance(value, dict):
        for name, part in value.items():
            child = node.property(name)
            place = f"{spot.path}.{name}" if spot.path else name
            if child is None:
                child, place = node.additional, f"{spot.path}[{name}]"
            if child is not None:
                old = spot.old.get(name) if isinstance(spot.old, dict) else None
                yield Spot(child, part, old, place, before(node, value, spot.old, name), spot)
    elif isinstance(value, list) and node.items is not None:
        for index, part in enumerate(value):
            related = before(node, value, spot.old, index)
            old = None if related is UNRELATED else related
            yield Spot(node.items, part, old, f"{spot.path}[{index}]", related, spot)


def _uses_old(text: str) -> bool:
    return re.search(r"\boldSelf\b", _STRINGS.sub("", text)) is not None


def _failure(rule: Obj, spot: Spot, error: CelError) -> Cause:
    """A rule that could not be evaluated refuses the object, even one that has not changed."""
    name = rule.get("message", "").strip() or rule["rule"].strip()
    path = spot.path or NOWHERE
    if isinstance(error, CelSyntaxError):
        return faults.invalid(path, spot.node.type, f"rule compile error: {error}")
    if str(error) == "no such overload":
        detail = "'no such overload': call arguments did not match a supported operator, function or macro signature"
        return faults.invalid(path, spot.node.type, f"{detail} for rule: {name}")
    return faults.invalid(path, spot.node.type, f"{error} evaluating rule: {name}")
