"""Somebody who reads a page of the documents and types what stands there, in a copy of the project of their own."""

import os
import pathlib
import shlex
import subprocess
from collections.abc import Mapping

from tests.parts.process import Process
from tests.tools.build import ensure
from tests.tools.catalogue import TOOLS
from tests.tools.documents import ROOT, Block, Command, Page, matches

COMMAND_SECONDS = 280
BEGIN_SECONDS = 120
END_SECONDS = 40


class PageFailed(AssertionError):
    """What stands in a page does not hold; the message says where."""


class Reader:
    """One shell with its own home folder. What is exported, and where one is, lasts from one command to the next."""

    def __init__(self, folder: pathlib.Path, environment: Mapping[str, str] | None = None) -> None:
        self.folder = folder / "manta"
        self.folder.mkdir(parents=True)
        for entry in ROOT.iterdir():
            (self.folder / entry.name).symlink_to(entry)
        self._state = folder / "state.sh"
        self._state.write_text("")
        self._beside: list[Process] = []
        home = folder / "home"
        home.mkdir()
        tools = [TOOLS[name] for name in ("kubectl", "helm")]
        ensure(tools)
        paths = [str(ROOT / ".venv" / "bin"), *(str(tool.path.parent) for tool in tools), os.environ["PATH"]]
        kept = {name: value for name, value in os.environ.items() if name not in ("KUBECONFIG", "XDG_DATA_HOME")}
        self.environment = kept | {"HOME": str(home), "PATH": os.pathsep.join(paths), **(environment or {})}

    def read(self, page: Page) -> None:
        """Do everything that a page says, in its order."""
        for block in page.blocks:
            if block.skipped:
                continue
            if block.file:
                self._save(page, block)
            for command in block.commands:
                self._type(page, block, command)

    def run(self, command: str) -> subprocess.CompletedProcess[str]:
        """Type a command."""
        state = shlex.quote(str(self._state))
        saved = f'export -p > {state}; echo cd "$(printf %q "$PWD")" >> {state}'
        script = f"source {state}\ntrap '{saved}' EXIT\nset -e -o pipefail\n{command}\n"
        return subprocess.run(
            ["bash", "-c", script],
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=COMMAND_SECONDS,
            check=False,
        )

    def stop(self) -> None:
        """End what still runs beside."""
        for process in self._beside:
            process.stop(limit_seconds=END_SECONDS)

    def _save(self, page: Page, block: Block) -> None:
        file = self.folder / block.file
        if file.is_symlink():
            raise PageFailed(
                f"{page.path.name}:{block.line}: {block.file} is a file of the project; choose another name"
            )
        file.write_text(block.text)

    def _type(self, page: Page, block: Block, command: Command) -> None:
        where = f"{page.path.name}:{block.line}: {command.text}"
        if block.until:
            self._begin(where, command.text, block.until)
            return
        done = self.run(command.text)
        if done.returncode:
            raise PageFailed(f"{where}\nends with {done.returncode}:\n{done.stdout}{done.stderr}{self._tails()}")
        if command.prints is not None and not matches(command.prints, done.stdout):
            raise PageFailed(f"{where}\nshould print:\n{command.prints}\nbut prints:\n{done.stdout}{done.stderr}")

    def _begin(self, where: str, command: str, until: str) -> None:
        log = self.folder.parent / f"beside-{len(self._beside)}.log"
        script = f"source {shlex.quote(str(self._state))}\ncd {shlex.quote(str(self.folder))}\nexec {command}"
        process = Process(where, ["bash", "-c", script], log, environment=self.environment)
        self._beside.append(process)
        process.start()
        process.wait_until(f"it prints {until!r}", lambda: until in log.read_text(), limit_seconds=BEGIN_SECONDS)

    def _tails(self) -> str:
        return "".join(f"\n--- {process.name}\n{process.tail()}" for process in self._beside)
