"""What this machine lets pods have for themselves, found out by trying."""

import pathlib
import tempfile

import msgspec

from manta_embedded.node.sandbox import Sandbox, SandboxFailed, Spaces

TRIES = (Spaces(), Spaces(pids=False))
NOTHING = Spaces(isolated=False, pids=False)


class Ability(msgspec.Struct, frozen=True):
    """The best that can be had, and why it is not more; empty when it is all."""

    spaces: Spaces
    because: str = ""


async def ability() -> Ability:
    """Try namespaces as a pod would use them, from all to none."""
    because = ""
    with tempfile.TemporaryDirectory(prefix="manta-") as folder:
        for spaces in TRIES:
            why = await _refusal(spaces, pathlib.Path(folder))
            if not why:
                return Ability(spaces, because)
            because = because or why
    return Ability(NOTHING, because)


async def _refusal(spaces: Spaces, folder: pathlib.Path) -> str:
    """Why a pod with these cannot be had; empty if it can."""
    place = folder / "memory"
    place.mkdir(exist_ok=True)
    try:
        sandbox = await Sandbox.open("manta-try", spaces, folder / "log")
    except SandboxFailed as error:
        return str(error)
    try:
        await sandbox.memory(str(place), 1024 * 1024)
    except SandboxFailed as error:
        return str(error)
    finally:
        await sandbox.close()
    return ""
