"""The `manta` command."""

import argparse
import sys
from collections.abc import Sequence
from importlib.metadata import version

from manta_cli import up
from manta_cli.services import BUILT, TO_COME
from manta_common.run import run

UNAVAILABLE = 69  # sysexits.h: the service is not to be had
EPILOG = "Settings are environment variables; `manta run SERVICE --help` lists those of a service."


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one sub-command; return its exit code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if given[:1] == ["run"] and len(given) > 1 and not given[1].startswith("-"):
        return _run(given[1], given[2:])
    options, parser = _parsed(given)
    if options.command == "up":
        return up.up(options)
    if options.command == "services":
        return _services()
    parser.print_help()
    return 0


def _parsed(given: Sequence[str]) -> tuple[argparse.Namespace, argparse.ArgumentParser]:
    parser = argparse.ArgumentParser(prog="manta", description="Runs Ray on Kubernetes.", epilog=EPILOG)
    parser.add_argument("--version", action="version", version=f"manta {version('manta-cli')}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    up.add_arguments(commands.add_parser("up", help="run all services in one process", description=up.__doc__))
    running = commands.add_parser("run", help="run one service", description="Run one service.")
    running.add_argument("service", metavar="SERVICE", help=", ".join(BUILT))
    commands.add_parser("services", help="list the services and which of them are built")
    return parser.parse_args(given), parser


def _run(service: str, arguments: Sequence[str]) -> int:
    if service in BUILT:
        config, work, about = BUILT[service]
        return run(config, work, about=about, arguments=arguments)
    if service in TO_COME:
        sys.stderr.write(f"{service}: not built yet; see CHANGELOG.md for what this version can do\n")
        return UNAVAILABLE
    sys.stderr.write(f"manta run: there is no service {service}; known: {', '.join([*BUILT, *TO_COME])}\n")
    return 2


def _services() -> int:
    for service in BUILT:
        sys.stdout.write(f"{service:20} built\n")
    for service in TO_COME:
        sys.stdout.write(f"{service:20} not built yet\n")
    return 0
