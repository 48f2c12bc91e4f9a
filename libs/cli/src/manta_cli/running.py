"""`manta run SERVICE` and `manta services`."""

import argparse
import sys
from collections.abc import Sequence

from manta_cli.failures import UNAVAILABLE, USAGE
from manta_cli.services import BUILT, TO_COME
from manta_common.run import run as run_service


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `manta run`; what follows the service is the service's own."""
    parser.add_argument("service", metavar="SERVICE", help=", ".join(BUILT))


def nothing(_: argparse.ArgumentParser) -> None:
    """`manta services` has no arguments."""


def usage(options: argparse.Namespace) -> int:
    """`manta run` comes here only with a flag before the service."""
    return run(options.service, [])


def run(service: str, arguments: Sequence[str]) -> int:
    """Run one service; its exit code."""
    if service in BUILT:
        found = BUILT[service]
        return run_service(found.config, found.main, about=found.about, arguments=arguments)
    if service in TO_COME:
        sys.stderr.write(f"{service}: not built yet; see CHANGELOG.md for what this version can do\n")
        return UNAVAILABLE
    sys.stderr.write(f"manta run: there is no service {service}; known: {', '.join([*BUILT, *TO_COME])}\n")
    return USAGE


def listed(_: argparse.Namespace) -> int:
    """Print the services."""
    for service in BUILT:
        sys.stdout.write(f"{service:20} built\n")
    for service in TO_COME:
        sys.stdout.write(f"{service:20} not built yet\n")
    return 0
