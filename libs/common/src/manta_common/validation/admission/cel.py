"""Rules as CEL: what must not be, over which items, and the rule's own message put together in CEL."""

import json
import string
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from manta_common.validation.problem import Rule

# What an item is called in the expressions of a refusal.
ITEM = "g"


class Refusal(msgspec.Struct, frozen=True):
    """A rule that the API server itself can check: `bad` says when it is broken, by an item or as a whole."""

    rule: Rule
    bad: str
    each: str = ""
    holes: Mapping[str, str] = {}
    prefix: str = ""

    def validation(self) -> dict[str, Any]:
        """Return the entry for a ValidatingAdmissionPolicy."""
        if not self.each:
            return {"expression": f"!({self.bad})", **self._message(self._words())}
        item = f"{self.each}.filter({ITEM}, {self.bad})[0]"
        words = f"[{item}].map({ITEM}, {self._words()})[0]" if self.holes else self._words()
        return {"expression": f"{self.each}.all({ITEM}, !({self.bad}))", **self._message(words)}

    def _message(self, words: str) -> dict[str, str]:
        plain = self.prefix + self.rule.message
        # A message with holes needs a plain one beside it, for the case that it cannot be put together.
        return {"message": plain, "messageExpression": words} if self.holes else {"message": plain}

    def _words(self) -> str:
        parts = [text(self.prefix)] if self.prefix else []
        for literal, hole, _, _ in string.Formatter().parse(self.rule.message):
            parts += [text(literal)] if literal else []
            parts += [f"string({self.holes[hole]})"] if hole else []
        return " + ".join(parts)


def retold(refusals: Iterable[Refusal], prefix: str) -> tuple[Refusal, ...]:
    """Return the refusals with a prefix before each message."""
    return tuple(msgspec.structs.replace(refusal, prefix=prefix + refusal.prefix) for refusal in refusals)


def text(value: str) -> str:
    """Return a text as a CEL string."""
    return json.dumps(value, ensure_ascii=False)


def texts(values: Iterable[str]) -> str:
    """Return some texts as a CEL list."""
    return f"[{', '.join(text(value) for value in values)}]"


def fullmatch(value: str, pattern: str) -> str:
    """Return the expression that tells whether a whole text matches a pattern."""
    return f"{value}.matches({text(f'^({pattern})$')})"


def has_name(items: str, name: str) -> str:
    """Return the expression that tells whether one of some items (variables, mounts, volumes) has a name."""
    return f"{items}.exists(e, e.name == {name})"


def is_set(variables: str, name: str) -> str:
    """Return the expression that tells whether an environment variable has a value, of whatever origin."""
    return f"{variables}.exists(e, e.name == {text(name)} && (e.?value.orValue('') != '' || has(e.valueFrom)))"
