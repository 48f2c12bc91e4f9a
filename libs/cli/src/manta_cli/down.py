"""End the `manta up` that uses a data folder, with everything that it runs; what it has stored stays."""

import argparse
import pathlib
import sys

from manta_cli.place import Place, default_folder


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The flags of `manta down`."""
    parser.add_argument("--data", metavar="DIR", help="the data folder it was started with")


def run(options: argparse.Namespace) -> int:
    """End it; the exit code."""
    place = Place(pathlib.Path(options.data).absolute() if options.data else default_folder())
    try:
        ended = place.end()
    except (TimeoutError, PermissionError) as error:
        sys.stderr.write(f"manta down: {error}\n")
        return 1
    sys.stdout.write("Manta has ended.\n" if ended else f"no Manta runs in {place.folder}\n")
    return 0
