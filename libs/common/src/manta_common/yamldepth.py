"""Refuses YAML that goes so deep that the library, which calls itself for each level, would end the whole process."""

from typing import Final

import yaml

DEEPEST: Final = 100
_Loader: Final[type[yaml.SafeLoader]] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_OPENERS: Final = ("[", "{", ":", "-", "?")  # a level needs one of these


class TooDeep(yaml.YAMLError):
    """More levels than anybody needs."""


def check(text: str) -> None:
    """TooDeep when the first document of a text has too many levels; YAMLError when it cannot be read that far."""
    if sum(map(text.count, _OPENERS)) <= DEEPEST:
        return
    depth = 0
    for event in yaml.parse(text, Loader=_Loader):
        if isinstance(event, yaml.DocumentEndEvent):
            return
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > DEEPEST:
            raise TooDeep(f"exceeded max depth of {DEEPEST}")
