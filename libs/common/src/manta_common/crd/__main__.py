"""Writes the CRDs and the reference, or takes Kubernetes' definitions anew; see `--help`."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from manta_common.crd import kubernetes
from manta_common.crd.files import crds
from manta_common.crd.reference import reference


def main(arguments: Sequence[str]) -> int:
    """Parse the command line and do what it says."""
    parser = argparse.ArgumentParser(prog="manta_common.crd", description="Manta's CRDs and their reference.")
    commands = parser.add_subparsers(required=True)
    writing = commands.add_parser("write", help="write the CRDs and the reference (make crds)")
    writing.add_argument("folder", type=Path, help="folder of the CRDs")
    writing.add_argument("page", type=Path, help="file of the reference")
    writing.set_defaults(run=lambda given: write(given.folder, given.page))
    taking = commands.add_parser("take", help="take the definitions of Kubernetes anew (make crds-kubernetes)")
    taking.add_argument(
        "documents",
        nargs=2,
        type=Path,
        help="what the API server has at /openapi/v3/api/v1 and /openapi/v3/apis/networking.k8s.io/v1",
    )
    taking.set_defaults(run=lambda given: take(given.documents))
    given = parser.parse_args(arguments)
    given.run(given)
    return 0


def write(folder: Path, page: Path) -> None:
    """Write the CRDs into a folder and the reference into a file."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in crds(kubernetes.load()):
        (folder / name).write_text(text, encoding="utf-8")
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text(reference(), encoding="utf-8")


def take(paths: Sequence[Path]) -> None:
    """Write Kubernetes' definitions anew into the package."""
    documents = [msgspec.json.decode(path.read_bytes(), type=dict[str, Any]) for path in paths]
    Path(__file__).with_name(kubernetes.FILE).write_bytes(kubernetes.taken_from(documents))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
