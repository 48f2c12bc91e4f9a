"""Label selectors, in the text form of a query."""

import re
from collections.abc import Callable, Mapping

from manta_common.validation.syntax import label_value, qualified_name
from manta_embedded.store import errors

Labels = Mapping[str, str]
Selector = Callable[[Labels], bool]
TOKEN = re.compile(r"\s*(==|!=|=|,|\(|\)|!|<|>|[^\s=!,()<>]+)")
SIGNS = ("==", "!=", "=", ",", "(", ")", "!", "<", ">")
OPERATORS = ("=", "==", "!=", "in", "notin", "<", ">")


def label_selector(text: str) -> Selector | None:
    """What a selector lets through; None lets everything through. 400 when it is none."""
    if not text.strip():
        return None
    requirements = _Parser(text).requirements()
    if len(requirements) == 1:
        return requirements[0]
    return lambda labels: all(requirement(labels) for requirement in requirements)


class _Parser:
    """Reads requirements from left to right."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = TOKEN.findall(text)
        self._at = 0

    def requirements(self) -> list[Selector]:
        found = [self._requirement()]
        while self._at < len(self._tokens):
            token = self._next()
            if token != ",":
                raise errors.bad_request(f"found '{token}', expected: ',' or 'end of string'")
            found.append(self._requirement())
        return found

    def _requirement(self) -> Selector:
        absent = self._peek() == "!"
        if absent:
            self._next()
        key = self._key()
        if absent:
            return lambda labels: key not in labels
        if self._peek() in ("", ","):
            return lambda labels: key in labels
        operator = self._next()
        if operator not in OPERATORS:
            expected = "in, notin, =, ==, !=, gt, lt"
            raise self._refusal(f"found '{operator}', expected: {expected}")
        return self._comparison(key, operator)

    def _comparison(self, key: str, operator: str) -> Selector:
        if operator in ("in", "notin"):
            values = self._values()
            if operator == "in":
                return lambda labels: labels.get(key) in values
            return lambda labels: labels.get(key) not in values
        value = self._value()
        self._check(f"values[0][{key}]", label_value(value), value)
        match operator:
            case "!=":
                return lambda labels: labels.get(key) != value
            case "<" | ">":
                return self._ordering(key, operator, value)
        return lambda labels: labels.get(key) == value

    def _ordering(self, key: str, operator: str, value: str) -> Selector:
        if not _is_integer(value):
            why = "for 'Gt', 'Lt' operators, the value must be an integer"
            raise self._refusal(f'values[0]: Invalid value: "{value}": {why}')
        sign = 1 if operator == ">" else -1
        return lambda labels: _is_integer(labels.get(key, "")) and sign * int(labels[key]) > sign * int(value)

    def _values(self) -> frozenset[str]:
        if self._next() != "(":
            raise self._refusal(f"found '{self._tokens[self._at - 1]}' expected: '('")
        values = [self._value()]
        while (token := self._next()) == ",":
            values.append(self._value())
        if token != ")":
            raise self._refusal(f"found '{token}', expected: ',' or ')'")
        return frozenset(values)

    def _value(self) -> str:
        """A value may be empty."""
        return "" if self._peek() in ("", ",", ")") else self._word()

    def _key(self) -> str:
        token = self._next()
        if not token or token in SIGNS:
            raise errors.bad_request(f"found '{token}', expected: !, identifier, or 'end of string'")
        self._check("key", qualified_name(token), token)
        return token

    def _word(self) -> str:
        token = self._next()
        if token in SIGNS:
            raise self._refusal(f"found '{token}', expected: identifier")
        return token

    def _check(self, field: str, wrong: list[str], value: str) -> None:
        if wrong:
            raise self._refusal(f'{field}: Invalid value: "{value}": {wrong[0]}')

    def _peek(self) -> str:
        return self._tokens[self._at] if self._at < len(self._tokens) else ""

    def _next(self) -> str:
        token = self._peek()
        self._at += 1
        return token

    def _refusal(self, why: str) -> errors.StatusError:
        return errors.bad_request(f"unable to parse requirement: {why}")


def _is_integer(text: str) -> bool:
    return re.fullmatch(r"[+-]?\d+", text) is not None
