"""The data folder of a standalone Manta is used by one process at a time."""

import os
import pathlib

import pytest

from manta_cli.place import Place, default_folder
from manta_common.errors import Misconfigured


def test_whoever_uses_it_is_known(tmp_path: pathlib.Path) -> None:
    place = Place(tmp_path / "data")
    assert place.pid() is None
    with place.held():
        assert place.pid() == os.getpid()
    assert place.pid() is None


def test_a_second_one_is_refused_and_told_what_to_do(tmp_path: pathlib.Path) -> None:
    place = Place(tmp_path)
    with place.held(), pytest.raises(Misconfigured, match=f"pid {os.getpid()}.*manta down.*--data"), place.held():
        pass
    with place.held():
        assert place.pid() == os.getpid()


def test_a_folder_that_cannot_be_made_is_named(tmp_path: pathlib.Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(Misconfigured, match="--data"), Place(tmp_path / "file" / "data").held():
        pass


def test_nothing_is_ended_where_nobody_is(tmp_path: pathlib.Path) -> None:
    assert Place(tmp_path).end() is False


@pytest.mark.parametrize(
    ("variables", "folder"),
    [
        ({"MANTA_DATA": "/srv/manta"}, "/srv/manta"),
        ({"MANTA_DATA": "", "XDG_DATA_HOME": "/data"}, "/data/manta"),
        ({"MANTA_DATA": "", "XDG_DATA_HOME": "", "HOME": "/home/a"}, "/home/a/.local/share/manta"),
    ],
)
def test_where_it_is_by_default(monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], folder: str) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert str(default_folder()) == folder
