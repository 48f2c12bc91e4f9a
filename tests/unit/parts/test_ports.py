"""Ports of the tests: each is handed out once, to whichever session asked first."""

import pathlib
import subprocess
import sys

import pytest

from tests.parts import ports
from tests.parts.ports import Ports

ROOT = pathlib.Path(__file__).parents[3]
TAKE_ALL = """
import pathlib, sys
from tests.parts import ports
ports.FIRST, ports.LAST = 29980, 29989
taken = ports.Ports(pathlib.Path(sys.argv[1]))
print(*taken.take(4), flush=True)
sys.stdin.read()
"""


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ports, "FIRST", 29980)
    monkeypatch.setattr(ports, "LAST", 29989)


@pytest.mark.usefixtures("few")
def test_a_port_is_handed_out_once(tmp_path: pathlib.Path) -> None:
    mine = Ports(tmp_path / "book")
    assert len({*mine.take(2), *mine.take(2)}) == 4


@pytest.mark.usefixtures("few")
def test_another_session_has_other_ports_until_it_ends(tmp_path: pathlib.Path) -> None:
    book = tmp_path / "book"
    command = [sys.executable, "-c", TAKE_ALL, str(book)]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout
        theirs = {int(port) for port in other.stdout.readline().split()}
        mine = Ports(book)
        with pytest.raises(OSError, match="7 free ports between 29980 and 29989 are wanted, 6 are there"):
            mine.take(7)
        other.communicate()
    assert len(theirs) == 4
    assert set(mine.take(4)) == theirs
