"""The `manta` command."""

import importlib
import sys
from collections.abc import Sequence

from manta_cli.commands import COMMANDS, parser

INTERRUPTED, MISCONFIGURED, UNAVAILABLE = 130, 78, 69  # as in failures, which takes a while to load
NO_EMBEDDED = (
    "this needs the package manta-embedded (an API, a node and a NATS of its own), which the image of the services does"
    " not have: install Manta as README says, or use `manta run SERVICE`"
)
NO_WINDOWS = "manta runs on Linux, and with one Ray cluster at a time on macOS; on Windows, run it in WSL 2"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one sub-command; return its exit code. Ctrl-C is no error, not even while modules are loaded."""
    try:
        return _run(arguments)
    except KeyboardInterrupt:
        return INTERRUPTED
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] != "manta_embedded":
            raise
        sys.stderr.write(f"manta: {NO_EMBEDDED}\n")
        return UNAVAILABLE


def _run(arguments: Sequence[str] | None) -> int:
    given = list(sys.argv[1:] if arguments is None else arguments)
    if given[:1] == ["run"] and len(given) > 1 and not given[1].startswith("-"):
        from manta_cli.running import run  # noqa: PLC0415  the services take a second to load

        return run(given[1], given[2:])
    line = parser(given[:1])
    options = line.parse_args(given)
    if options.command is None:
        line.print_help()
        return 0
    if sys.platform == "win32":
        sys.stderr.write(f"{NO_WINDOWS}\n")
        return MISCONFIGURED
    command = COMMANDS[options.command]
    work = getattr(importlib.import_module(f"manta_cli.{command.module}"), command.work)
    if not command.asks_cluster:
        return int(work(options))
    from manta_cli import session  # noqa: PLC0415

    return session.run(options, work)
