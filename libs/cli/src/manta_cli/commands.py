"""Every sub-command: what it is for, and where it is; a command is loaded when it is called."""

import argparse
import importlib
from collections.abc import Sequence
from importlib.metadata import version
from typing import Final

import msgspec

EPILOG: Final = (
    "Settings of services are environment variables; `manta run SERVICE --help` lists them. Exit codes: 0 done, "
    "1 failed, 2 wrong command line, 69 no answer, 77 not allowed, 78 wrong settings, 130 Ctrl-C."
)


class Command(msgspec.Struct, frozen=True, kw_only=True):
    """One sub-command: the module's function that adds its flags, and the one that does its work."""

    help: str
    module: str
    arguments: str = "add_arguments"
    work: str
    asks_cluster: bool = True


COMMANDS: Final[dict[str, Command]] = {
    "apply": Command(help="make or change objects as files say", module="apply", work="apply"),
    "get": Command(help="show objects in a table, as JSON or YAML", module="get", work="get"),
    "describe": Command(help="tell all about one object", module="describe", work="describe"),
    "watch": Command(help="a live table of clusters and jobs", module="watch", work="watch"),
    "logs": Command(help="print the log of a RayJob", module="logs", work="logs"),
    "submit": Command(help="run a command as a RayJob and follow it", module="submit", work="submit"),
    "cleanup": Command(help="show what will be deleted when, and by which rule", module="cleanup", work="cleanup"),
    "delete": Command(help="delete objects", module="apply", arguments="add_delete_arguments", work="delete"),
    "doctor": Command(help="look whether Manta can work here, and say what to do", module="doctor", work="doctor"),
    "crds": Command(help="print or install the CRDs", module="crds", work="run", asks_cluster=False),
    "up": Command(help="run all services in one process", module="up", work="up", asks_cluster=False),
    "demo": Command(help="run a Ray job on this machine and show how", module="demo", work="run", asks_cluster=False),
    "down": Command(help="end a standalone `manta up`", module="down", work="run", asks_cluster=False),
    "run": Command(help="run one service", module="running", work="usage", asks_cluster=False),
    "services": Command(
        help="list the services", module="running", arguments="nothing", work="listed", asks_cluster=False
    ),
    "completion": Command(
        help="print a completion script for a shell", module="completion", work="run", asks_cluster=False
    ),
}


def parser(loaded: Sequence[str]) -> argparse.ArgumentParser:
    """The command line; of the commands only those that are `loaded` know their flags."""
    root = argparse.ArgumentParser(prog="manta", description="Runs Ray on Kubernetes.", epilog=EPILOG)
    root.add_argument("--version", action="version", version=f"manta {version('manta-cli')}")
    commands = root.add_subparsers(dest="command", metavar="COMMAND")
    for name, command in COMMANDS.items():
        if name in loaded:
            module = importlib.import_module(f"manta_cli.{command.module}")
            one = commands.add_parser(name, help=command.help, description=_about(module.__doc__, command))
            getattr(module, command.arguments)(one)
        else:
            commands.add_parser(name, help=command.help)
    return root


def _about(text: str | None, command: Command) -> str:
    """The first paragraph of what a module says of itself, unless it is about several commands."""
    own = command.arguments == "add_arguments" and command.module != "running"
    return (text or "").strip().split("\n\n")[0] if own else f"{command.help.capitalize()}."
