"""`manta doctor --migrate`: look at a cluster with KubeRay, print the values file and the steps to Manta and back."""

import argparse
import pathlib
from collections.abc import Sequence
from typing import Any, Final

import msgspec
import yaml

from manta_cli import findings
from manta_cli.console import Console
from manta_cli.failures import USAGE, Failed
from manta_cli.migration.found import Found, Operator
from manta_cli.migration.inspect import Inspector
from manta_cli.migration.plan import Plan, Step, plan
from manta_cli.session import Session

NAMESPACE: Final = "manta-system"
FILE: Final = "values.yaml"
_HEAD: Final = "# For Manta's chart, from what KubeRay was told: manta doctor --migrate\n"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The flags that go with `--migrate`."""
    group = parser.add_argument_group("a move from KubeRay")
    group.add_argument(
        "--migrate",
        action="store_true",
        help="look at KubeRay here, and print values and steps; -n: where Manta will be",
    )
    group.add_argument("--operator", metavar="NS/NAME", default="", help="the Deployment to move from, of several")
    group.add_argument("--values", metavar="FILE", default="", help="write the values for the chart there")


def check(options: argparse.Namespace) -> None:
    """Flags that mean nothing without `--migrate`."""
    given = [f"--{name}" for name in ("operator", "values") if getattr(options, name)]
    if given and not options.migrate:
        raise Failed(f"{' and '.join(given)} can only be said with --migrate", USAGE)


async def migrate(session: Session) -> int:
    """Look, and print what to do; 1 when something must be done before the first step."""
    options = session.options
    await session.kube.server_version()  # no answer at all is told as everywhere
    found = await Inspector(session.kube).found()
    made = plan(
        found,
        chosen(found, options.operator),
        namespace=options.namespace or NAMESPACE,
        file=options.values or FILE,
    )
    if options.values and made.steps:
        _write(pathlib.Path(options.values), made.values)
    if options.output == "table":
        _show(session.console, made, written=options.values)
    else:
        session.console.document(msgspec.to_builtins(made), options.output)
    return 0 if made.ready else 1


def chosen(found: Found, name: str) -> Operator | None:
    """The operator that was named, or the only one, or the only one that runs."""
    if name:
        known = {one.name: one for one in found.operators}
        if name not in known:
            there = ", ".join(known) or "none"
            raise Failed(f"--operator {name}: there is no such KubeRay operator; there are: {there}")
        return known[name]
    running = [one for one in found.operators if one.running]
    candidates = running or list(found.operators)
    return candidates[0] if len(candidates) == 1 else None


def _write(file: pathlib.Path, values: dict[str, Any]) -> None:
    try:
        file.write_text(_text(values), encoding="utf-8")
    except OSError as error:
        raise Failed(f"--values {file} cannot be written: {error.strerror}") from error


def _text(values: dict[str, Any]) -> str:
    return _HEAD + yaml.safe_dump(values, sort_keys=False, allow_unicode=True, width=120)


def _show(console: Console, made: Plan, *, written: str) -> None:
    for finding in made.findings:
        findings.say(console, finding)
    if not made.steps:
        return
    console.say()
    if not made.ready:
        console.say("Do first what is marked with fail, then look again. Then, step by step:")
    _steps(console, made.steps)
    console.say("\n# the way back\n")
    _steps(console, made.back)
    console.say(f"\n# the values are in {written}" if written else f"\n# {FILE}\n{_text(made.values)}".rstrip())


def _steps(console: Console, steps: Sequence[Step]) -> None:
    for step in steps:
        console.say(f"# {step.why}\n{step.run}")
