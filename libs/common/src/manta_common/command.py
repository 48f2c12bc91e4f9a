"""The command line of a service, and a `--help` that tells what it can be told."""

import argparse
from collections.abc import Iterator, Sequence
from importlib.metadata import version
from pathlib import Path

from manta_common.settings.fields import Field, Settings, fields, text
from manta_common.settings.names import section

_END = """\
Settings are environment variables, or stand in a YAML or JSON file (--config, or the variable MANTA_CONFIG) under the
name in brackets; variables win. {own} sets one for this service only, in a file under `{section}:`.
Traces are sent when the standard OTEL_EXPORTER_OTLP_ENDPOINT is set.

{settings}

SIGTERM and SIGINT stop it in good order, a second one at once.
Exit codes: 0 stopped, 1 crashed or did not stop in time, 2 wrong command line, 78 wrong settings.
"""


def options(config: type[Settings], about: str, arguments: Sequence[str] | None) -> argparse.Namespace:
    """Parse the command line of a service; argparse itself answers --help and --version, and exits with 2."""
    name = f"manta-{config.SERVICE}"
    parser = argparse.ArgumentParser(
        prog=name,
        description=about,
        epilog=_end(config),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"{name} {version(name)}")
    parser.add_argument("--config", metavar="FILE", type=Path, help="read settings from this file")
    return parser.parse_args(arguments)


def _end(config: type[Settings]) -> str:
    known = fields(config)
    shown = "\n".join(line for field in known for line in _lines(field, config.SERVICE))
    own = f"MANTA_{config.SERVICE.upper().replace('-', '_')}_..."
    # argparse reads % in this text as its own
    return _END.format(own=own, section=section(config.SERVICE), settings=shown).replace("%", "%%")


def _lines(field: Field, service: str) -> Iterator[str]:
    default = "" if field.secret else text(field.default)
    expected = "" if field.expected == "text" else f" Expected: {field.expected}."
    yield f"  {field.variables(service)[0]} [{field.places(service)[0]}]" + (f" = {default}" if default else "")
    yield f"      {field.meaning}{expected}"
