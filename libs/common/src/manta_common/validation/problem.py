"""What validation finds: where, what KubeRay would say of it, and how to mend it."""

from collections.abc import Iterable, Iterator

import msgspec


class Problem(msgspec.Struct, frozen=True):
    """One thing that is wrong with an object."""

    path: str
    message: str
    fix: str


class Rule(msgspec.Struct, frozen=True):
    """One thing that must not be: KubeRay's message with holes like {group}, and the way out in our words."""

    message: str
    fix: str

    def at(self, path: str, **holes: object) -> Problem:
        """Return the problem of this rule at a field."""
        return Problem(path, self.message.format(**holes), self.fix.format(**holes))


def retold(problems: Iterable[Problem], prefix: str) -> Iterator[Problem]:
    """Yield the problems with a prefix before each message, as the kind around them reports them."""
    for problem in problems:
        yield msgspec.structs.replace(problem, message=f"{prefix}{problem.message}")


def joined(problems: list[Problem], path: str, separator: str) -> Iterator[Problem]:
    """Yield one problem for several that KubeRay reports in one message."""
    if len(problems) == 1:
        yield problems[0]
    elif problems:
        fixes = dict.fromkeys(problem.fix for problem in problems)
        yield Problem(path, separator.join(problem.message for problem in problems), " ".join(fixes))
