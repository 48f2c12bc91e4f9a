"""The command line itself: help, completion, exit codes, colours, and the namespace of a context."""

import pathlib
import subprocess
import sys

import pytest

from manta_cli import session
from manta_cli.cells import duration
from manta_cli.commands import COMMANDS
from manta_cli.completion import SHELLS, script
from manta_cli.console import Console
from manta_cli.failures import MEANINGS, UNAVAILABLE, Failed, told
from manta_cli.main import main
from manta_cli.place import Place
from manta_cli.reference import text
from manta_common.errors import Conflict, MantaError, Misconfigured, Refused, Unreachable
from tests.unit.manta_cli.place import Terminal, parsed

PAGE = pathlib.Path(__file__).parents[3] / "docs/reference/cli.md"


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_command_has_help(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main([name, "--help"])
    assert ended.value.code == 0
    assert f"usage: manta {name}" in capsys.readouterr().out


def test_without_a_command_help_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    shown = capsys.readouterr().out
    assert all(name in shown for name in COMMANDS)


def test_on_windows_it_says_where_it_runs(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("sys.platform", "win32")
    assert main(["get", "rayjobs"]) == 78
    assert "WSL 2" in capsys.readouterr().err


def test_ctrl_c_is_no_error_while_modules_are_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(name: str) -> None:
        raise KeyboardInterrupt(name)

    monkeypatch.setattr("importlib.import_module", interrupted)
    assert main(["get", "rayjobs"]) == 130


def test_the_reference_is_up_to_date() -> None:
    assert PAGE.read_text() == text(), "stale: python -m manta_cli.reference docs/reference/cli.md"


@pytest.mark.parametrize("shell", SHELLS)
def test_completion_knows_every_command(shell: str) -> None:
    made = script(shell)
    assert all(name in made for name in COMMANDS)


def test_bash_completes(tmp_path: pathlib.Path) -> None:
    (tmp_path / "manta.bash").write_text(script("bash"))
    asks = 'COMP_WORDS=({words}); COMP_CWORD={at}; _manta; echo "${{COMPREPLY[@]}}"'
    for words, at, expected in (
        ("manta cle", 1, "cleanup"),
        ("manta get rayj", 2, "rayjob"),
        ("manta submit --work", 2, "--workers"),
    ):
        lines = f"source {tmp_path}/manta.bash; {asks.format(words=words, at=at)}"
        done = subprocess.run(["bash", "-c", lines], capture_output=True, text=True, check=True, timeout=20)
        assert done.stdout.split() == [expected], done.stderr


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (Failed("x"), 1),
        (Failed("x", 2), 2),
        (Conflict("x"), 1),
        (Unreachable("x"), 69),
        (Refused(403, "Forbidden", "x"), 77),
        (Refused(422, "Invalid", "x"), 1),
        (Misconfigured("x"), 78),
    ],
)
def test_errors_have_exit_codes_that_are_documented(error: MantaError | Failed, code: int) -> None:
    assert told(error)[1] == code
    assert code in MEANINGS


def test_a_cluster_that_is_not_there_is_told_in_a_sentence(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = tmp_path / "config"
    assert main(["get", "all", "--kubeconfig", str(config)]) == 78
    assert f"there is no kubeconfig at {config}" in capsys.readouterr().err
    config.write_text(
        "{apiVersion: v1, kind: Config, current-context: a, contexts: [{name: a, context: {cluster: a, user: a}}],"
        " clusters: [{name: a, cluster: {server: 'http://127.0.0.1:1'}}], users: [{name: a, user: {token: x}}]}"
    )
    assert main(["get", "rayjobs", "--kubeconfig", str(config)]) == 69
    shown = capsys.readouterr().err
    assert shown.startswith("manta get: list rayjobs: ")
    assert "Traceback" not in shown


def test_ctrl_c_and_errors_of_several_tasks_end_in_good_order(monkeypatch: pytest.MonkeyPatch) -> None:
    async def interrupted(*_: object) -> int:
        raise KeyboardInterrupt

    async def several(*_: object) -> int:
        raise ExceptionGroup("two", [Unreachable("far"), Failed("x")])

    out, err = Terminal(), Terminal()
    options = parsed("get", "pods")
    monkeypatch.setattr(session, "_connected", interrupted)
    assert session.run(options, interrupted, Console(out, err)) == 130
    monkeypatch.setattr(session, "_connected", several)
    assert session.run(options, several, Console(out, err)) == 69
    assert err.getvalue().startswith("manta get: far")


def test_the_namespace_is_the_contexts(tmp_path: pathlib.Path) -> None:
    config = tmp_path / "config"
    config.write_text(
        "{current-context: a, contexts: [{name: a, context: {namespace: team}}, {name: b, context: {cluster: x}}]}"
    )
    assert session.context_namespace(str(config), "") == "team"
    assert session.context_namespace(str(config), "b") == "default"
    config.write_text("[")
    with pytest.raises(Misconfigured, match="cannot be used"):
        session.context_namespace(str(config), "")


def test_a_standalone_manta_that_runs_is_the_cluster(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MANTA_DATA", str(tmp_path))
    monkeypatch.delenv("KUBECONFIG", raising=False)
    options = parsed("get", "pods")
    config = tmp_path / "api" / "kubeconfig"
    config.parent.mkdir()
    config.write_text("{}")
    assert session.kubeconfig_of(options).endswith(".kube/config")
    with Place(tmp_path).held():
        assert session.kubeconfig_of(options) == str(config)
        assert session.kubeconfig_of(parsed("get", "pods", "--kubeconfig", "x")) == "x"


def test_what_the_image_of_the_services_lacks_is_a_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delitem(sys.modules, "manta_cli.up", raising=False)
    monkeypatch.setitem(sys.modules, "manta_embedded.nats", None)
    monkeypatch.setitem(sys.modules, "manta_embedded", None)
    assert main(["up"]) == UNAVAILABLE
    assert "needs the package manta-embedded" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("is_terminal", "environment", "coloured"),
    [(True, {}, True), (False, {}, False), (True, {"NO_COLOR": "1"}, False), (True, {"TERM": "dumb"}, False)],
)
def test_colours_are_for_terminals(is_terminal: bool, environment: dict[str, str], coloured: bool) -> None:
    out = Terminal(is_terminal=is_terminal)
    Console(out, out, environment).table(["A"], [["Failed"]])
    assert ("\033[31m" in out.getvalue()) == coloured


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(5, "5s"), (119, "119s"), (120, "2m0s"), (601, "10m"), (10800, "3h"), (172800, "2d"), (-5, "-5s")],
)
def test_durations_are_as_kubectl_writes_them(seconds: int, shown: str) -> None:
    assert duration(seconds) == shown
