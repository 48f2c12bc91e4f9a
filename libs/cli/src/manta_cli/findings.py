"""What a look at a cluster found, and what to do about it."""

from collections.abc import Sequence
from typing import Literal

import msgspec

from manta_cli.console import Console

State = Literal["ok", "warn", "fail", "skip"]


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that was looked at, and what to do about it."""

    check: str
    state: State
    found: str
    do: str = ""


def say(console: Console, finding: Finding) -> None:
    """A line or two for people."""
    word = console.painted(finding.state.ljust(4))
    console.say(f"{word}  {finding.check}: {finding.found}")
    if finding.do:
        console.say(f"      -> {finding.do}")


def code(findings: Sequence[Finding]) -> int:
    """1 when something must be changed."""
    return 1 if any(finding.state == "fail" for finding in findings) else 0
