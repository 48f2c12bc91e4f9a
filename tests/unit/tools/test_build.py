"""Tools are built once, whole or not at all, and whoever cannot build is told why."""

import os
import pathlib
import subprocess
import sys

import pytest

from tests.tools.build import BuildFailed, ensure, fetch
from tests.tools.catalogue import GATEWAY_API, TOOLS, Files, Tool, cache_folder

ROOT = pathlib.Path(__file__).parents[3]
HELLO = 'package main\n\nimport ("fmt"; "example.test/greeting")\n\nfunc main() { fmt.Println(greeting.Text) }\n'


@pytest.fixture
def cache(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    folder = tmp_path / "cache"
    monkeypatch.setenv("MANTA_CACHE", str(folder))
    return folder


@pytest.fixture
def hello(tmp_path: pathlib.Path, cache: pathlib.Path) -> Tool:
    """A tool of a Go module that needs nothing from outside."""
    return module(tmp_path / "hello", HELLO)


def module(folder: pathlib.Path, source: str) -> Tool:
    greeting = folder / "greeting"
    greeting.mkdir(parents=True)
    (greeting / "go.mod").write_text("module example.test/greeting\n\ngo 1.26\n")
    (greeting / "greeting.go").write_text('package greeting\n\nconst Text = "hello"\n')
    requirement = "require example.test/greeting v1.0.0\n\nreplace example.test/greeting => ./greeting\n"
    (folder / "go.mod").write_text(f"module example.test/hello\n\ngo 1.26\n\n{requirement}")
    (folder / "go.sum").write_text("")
    (folder / "main.go").write_text(source)
    return Tool("hello", str(folder), "example.test/hello", "example.test/greeting", "test")


def test_a_tool_is_built_once(hello: Tool) -> None:
    ensure([hello])
    built = hello.path.stat()
    assert subprocess.run([hello.path], capture_output=True, text=True, check=True).stdout == "hello\n"
    ensure([hello])
    assert hello.path.stat() == built


def test_a_changed_pin_is_another_build(hello: Tool) -> None:
    before = hello.path
    pins = pathlib.Path(hello.family) / "go.sum"
    pins.write_text("example.test/other v1.0.0 h1:abc\n")
    assert hello.path != before


def test_what_a_killed_build_left_behind_does_no_harm(hello: Tool, cache: pathlib.Path) -> None:
    (cache / "tools" / ".new-abc").mkdir(parents=True)
    (cache / "tools" / ".new-abc" / "hello").write_text("half")
    hello.path.parent.mkdir(parents=True)
    ensure([hello])
    assert subprocess.run([hello.path], capture_output=True, text=True, check=True).stdout == "hello\n"


def test_two_runs_at_once_build_it_once(hello: Tool) -> None:
    script = (
        "from tests.tools.build import ensure; from tests.tools.catalogue import Tool;"
        f"ensure([Tool({hello.name!r}, {hello.family!r}, {hello.package!r}, {hello.module!r}, 'test')])"
    )
    command = [sys.executable, "-c", script]
    runs = [subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True) for _ in range(3)]
    said = [run.communicate(timeout=120)[1] for run in runs]
    assert [run.returncode for run in runs] == [0, 0, 0], said
    assert "".join(said).count("built in") == 1


def test_a_build_that_fails_shows_the_last_lines(tmp_path: pathlib.Path, cache: pathlib.Path) -> None:
    broken = module(tmp_path / "broken", "package main\n\nfunc main() { nonsense }\n")
    with pytest.raises(BuildFailed, match=r"(?s)building .*hello.* failed.*nonsense"):
        ensure([broken])
    assert not broken.path.exists()


def test_a_cache_that_cannot_be_written_is_named(hello: Tool, cache: pathlib.Path) -> None:
    cache.write_text("not a folder")
    with pytest.raises(BuildFailed, match=r"set MANTA_CACHE to a folder you may write"):
        ensure([hello])


def test_an_unknown_tool_is_refused_with_the_known_ones() -> None:
    done = subprocess.run(
        [sys.executable, "tests/tools/build.py", "kube-apiservre"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "no tool or level is called kube-apiservre; tools: kube-apiserver" in done.stderr


def test_files_of_a_module_are_taken_once(cache: pathlib.Path) -> None:
    folder = fetch(GATEWAY_API)
    assert "HTTPRoute" in (folder / "gateway.networking.k8s.io_httproutes.yaml").read_text()
    taken = folder.stat()
    assert fetch(GATEWAY_API).stat() == taken
    assert cache in folder.parents
    assert not list(folder.parent.glob(".new-*"))


def test_files_of_a_module_that_nobody_pins_are_refused(cache: pathlib.Path) -> None:
    with pytest.raises(LookupError, match=r"kuberay/go.mod does not require example.test/other"):
        fetch(Files("other", "kuberay", "example.test/other", "folder"))


def test_every_tool_is_pinned() -> None:
    assert all(tool.version.startswith("v") for tool in TOOLS.values())


def test_the_cache_can_be_moved(cache: pathlib.Path) -> None:
    assert cache_folder() == cache
    assert os.environ["MANTA_CACHE"] == str(cache)
