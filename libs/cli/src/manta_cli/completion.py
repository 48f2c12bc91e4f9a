"""Print a script that completes commands, flags and kinds in a shell: `source <(manta completion bash)`."""

import argparse
import sys
from collections.abc import Iterator
from typing import Final

from manta_cli.commands import COMMANDS, parser
from manta_cli.kinds import ALL, KNOWN

SHELLS: Final = ("bash", "zsh", "fish")
KIND_COMMANDS: Final = ("get", "describe", "watch", "delete")

_BASH: Final = """# completion of manta for bash: source <(manta completion bash)
_manta() {{
    local word=${{COMP_WORDS[COMP_CWORD]}} command=${{COMP_WORDS[1]}} words
    if [ "$COMP_CWORD" -eq 1 ]; then words="{commands} --help --version"; else
    case "$command" in
{cases}
    esac
    if [ "$COMP_CWORD" -eq 2 ]; then case "$command" in {kinds}) words="$words {names}";; esac; fi
    fi
    COMPREPLY=($(compgen -W "$words" -- "$word"))
    [ ${{#COMPREPLY[@]}} -eq 0 ] && COMPREPLY=($(compgen -f -- "$word"))
    return 0
}}
complete -F _manta manta
"""
_ZSH: Final = (
    "# completion of manta for zsh: source <(manta completion zsh)\nautoload -U +X bashcompinit && bashcompinit\n"
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `manta completion`."""
    parser.add_argument("shell", choices=SHELLS, help="the shell")


def run(options: argparse.Namespace) -> int:
    """Print the script."""
    sys.stdout.write(script(options.shell))
    return 0


def script(shell: str) -> str:
    """The script of a shell."""
    flags = {name: sorted(_flags(one)) for name, one in subparsers().items()}
    if shell == "fish":
        return "".join(_fish(flags))
    cases = "\n".join(f'        {name}) words="{" ".join(found)}";;' for name, found in flags.items())
    text = _BASH.format(
        commands=" ".join(COMMANDS), cases=cases, kinds="|".join(KIND_COMMANDS), names=" ".join(_kinds())
    )
    return text if shell == "bash" else _ZSH + text


def subparsers() -> dict[str, argparse.ArgumentParser]:
    """The command line of every command, with all its flags."""
    root = parser(list(COMMANDS))
    found = next(action for action in root._actions if isinstance(action, argparse._SubParsersAction))
    return dict(found.choices)


def _flags(one: argparse.ArgumentParser) -> Iterator[str]:
    for action in one._actions:
        yield from (flag for flag in action.option_strings if flag.startswith("--"))


def _kinds() -> list[str]:
    return [ALL, *(kind.name for kind in KNOWN)]


def _fish(flags: dict[str, list[str]]) -> Iterator[str]:
    yield "# completion of manta for fish: manta completion fish | source\ncomplete -c manta -f\n"
    for name, command in COMMANDS.items():
        yield f"complete -c manta -n __fish_use_subcommand -a {name} -d '{command.help}'\n"
        for flag in flags[name]:
            yield f"complete -c manta -n '__fish_seen_subcommand_from {name}' -l {flag.removeprefix('--')}\n"
    for name in KIND_COMMANDS:
        yield f"complete -c manta -n '__fish_seen_subcommand_from {name}' -a '{' '.join(_kinds())}'\n"
