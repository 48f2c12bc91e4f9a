"""The rights of every service as the chart needs them: `python -m manta_cli.rights FILE`."""

import importlib
import importlib.util
import pathlib
import sys
from collections.abc import Sequence
from typing import Any

import msgspec
import yaml

from manta_common.bus.rights import subjects
from manta_common.rights import Rights, rules
from manta_common.settings.names import SERVICES

_MADE = "# Made by `make chart` from the services' own declarations (rights.py); do not edit.\n"


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


def text() -> str:
    """The file of the chart."""
    return _MADE + yaml.safe_dump(document(), sort_keys=False, width=120)


def main(arguments: Sequence[str]) -> int:
    """Write the file."""
    pathlib.Path(*arguments).write_text(text(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
