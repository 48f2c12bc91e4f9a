"""What the chart must know of the services, their rights and the gates: `python -m manta_cli.rights FOLDER`."""

import importlib
import importlib.util
import pathlib
import sys
from collections.abc import Sequence
from typing import Any

import msgspec
import yaml

from manta_common.api.gates import defaults
from manta_common.bus.rights import looker, subjects
from manta_common.bus.settings import client_name
from manta_common.rights import Rights, rules
from manta_common.settings.names import SERVICES

_MADE = "# Made by `make chart` from {}; do not edit.\n"


def all_rights() -> list[Rights]:
    """The declarations of the services that are installed."""
    modules = [f"manta_{service.replace('-', '_')}" for service in SERVICES]
    built = [f"{module}.rights" for module in modules if importlib.util.find_spec(module)]
    return [importlib.import_module(name).RIGHTS for name in built if importlib.util.find_spec(name)]


def document() -> dict[str, Any]:
    """Rules of roles and subjects of NATS by service."""
    return {
        rights.service: {"rules": rules(rights.kubernetes), "nats": msgspec.to_builtins(subjects(rights))}
        for rights in all_rights()
    }


def files() -> dict[str, str]:
    """The files of the chart, by name."""
    known = {
        "rights.yaml": ("the services' own declarations (rights.py)", document()),
        "doctor.yaml": ("what `manta doctor` looks at", {"nats": msgspec.to_builtins(looker(client_name("cli")))}),
        "gates.yaml": ("the defaults of the feature gates", defaults()),
    }
    return {
        name: _MADE.format(source) + yaml.safe_dump(made, sort_keys=False, width=120)
        for name, (source, made) in known.items()
    }


def main(arguments: Sequence[str]) -> int:
    """Write the files."""
    for name, text in files().items():
        pathlib.Path(*arguments, name).write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
