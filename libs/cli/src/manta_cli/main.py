"""The `manta` command."""

import argparse
import sys
from importlib.metadata import version

UNAVAILABLE = 69  # sysexits.h: the service is not to be had


def main() -> int:
    """Run one sub-command; return its exit code."""
    parser = argparse.ArgumentParser(prog="manta", description="Runs Ray on Kubernetes.")
    parser.add_argument("--version", action="version", version=f"manta {version('manta-cli')}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    commands.add_parser("up", help="run all of Manta (not built yet)")
    options = parser.parse_args()
    if options.command is None:
        parser.print_help()
        return 0
    sys.stderr.write("manta up: not built yet; see CHANGELOG.md for what this version can do\n")
    return UNAVAILABLE
