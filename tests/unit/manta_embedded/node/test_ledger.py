"""The record of processes."""

import os
import pathlib
import signal
import subprocess

from manta_embedded.node.ledger import Ledger, began


def test_what_was_recorded_is_ended_once(tmp_path: pathlib.Path) -> None:
    with subprocess.Popen(["sleep", "1000"]) as left:
        Ledger(tmp_path / "list.json").add("uid", left.pid)
        assert Ledger(tmp_path / "list.json").end_orphans() == [left.pid]
        assert left.wait(timeout=10) == -signal.SIGKILL
    assert Ledger(tmp_path / "list.json").end_orphans() == []


def test_a_number_that_belongs_to_another_by_now_is_left_alone(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "list.json"
    path.write_text(f'{{"uid": {{"pid": {os.getpid()}, "began": "1"}}}}')
    assert Ledger(path).end_orphans() == []
    assert began(os.getpid())


def test_what_has_ended_is_not_recorded(tmp_path: pathlib.Path) -> None:
    ledger = Ledger(tmp_path / "list.json")
    ledger.add("uid", os.getpid())
    ledger.drop("uid")
    assert Ledger(tmp_path / "list.json").end_orphans() == []


def test_a_torn_record_names_nobody(tmp_path: pathlib.Path) -> None:
    (tmp_path / "list.json").write_text('{"uid": {"pid"')
    assert Ledger(tmp_path / "list.json").end_orphans() == []
