"""The start of every service: its command line, and the plain word that it cannot work yet."""

import argparse
import sys
from importlib.metadata import version

UNAVAILABLE = 69  # sysexits.h: the service is not to be had


def run(service: str) -> int:
    """Parse the command line of a service and run it; return the exit code."""
    parser = argparse.ArgumentParser(prog=f"manta_{service.replace('-', '_')}", description=f"Manta's {service}.")
    parser.add_argument("--version", action="version", version=f"manta-{service} {version(f'manta-{service}')}")
    parser.parse_args()
    sys.stderr.write(f"{service}: not built yet; see CHANGELOG.md for what this version can do\n")
    return UNAVAILABLE
