"""Manta keeps its architecture, and the checks notice when it does not."""

import pathlib

import pytest

from tests.unit.project.architecture import findings

ROOT = pathlib.Path(__file__).parents[3]


def test_the_project_keeps_its_rules() -> None:
    assert findings(ROOT) == []


@pytest.mark.parametrize(
    ("path", "text", "complaint"),
    [
        pytest.param(
            "libs/common/src/manta_common/worker.py", "import nats", "imports nats", id="nats outside the bus"
        ),
        pytest.param(
            "services/watcher/src/manta_watcher/lists.py",
            "from kubernetes_asyncio import client",
            "imports kubernetes_asyncio.client",
            id="kubernetes_asyncio outside the kube client",
        ),
        pytest.param(
            "services/janitor/src/manta_janitor/due.py",
            "from manta_watcher.trim import trim",
            "one service imports another",
            id="a service imports another",
        ),
        pytest.param(
            "services/janitor/src/manta_janitor/decide.py",
            "import asyncio",
            "reaches asyncio",
            id="a pure module imports asyncio",
        ),
        pytest.param(
            "services/janitor/src/manta_janitor/policies/ttl.py",
            "from manta_janitor.clock import tick",
            "manta_janitor.clock -> time",
            id="a pure module reaches the clock by a detour",
        ),
        pytest.param(
            "services/janitor/src/manta_janitor/status.py",
            "import datetime\nWHEN = datetime.datetime.now()",
            "reads the clock",
            id="a pure module asks for the time",
        ),
        pytest.param(
            "services/janitor/src/manta_janitor/observed.py",
            "async def f(): ...",
            "async in a pure module",
            id="async in pure code",
        ),
        pytest.param(
            "services/janitor/src/manta_janitor/due.py",
            "import time\n\n\ndef f():\n    return time.time()",
            "asks the machine for the time of day",
            id="the machine's time of day in a service",
        ),
        pytest.param(
            "libs/common/src/manta_common/worker.py",
            "from datetime import UTC, datetime\nWHEN = datetime.now(UTC)",
            "asks the machine for the time of day",
            id="the machine's time of day in what services share",
        ),
        pytest.param(
            "libs/cli/src/manta_cli/long.py",
            "def f():\n" + "    x = 1\n" * 60,
            "f has 61 lines",
            id="a function too long",
        ),
        pytest.param("libs/cli/src/manta_cli/big.py", "x = 1\n" * 501, "501 lines", id="a module too long"),
        pytest.param(
            "libs/cli/src/manta_cli/quiet.py",
            "try:\n    x = 1\nexcept ValueError:\n    pass",
            "swallowed",
            id="an exception swallowed",
        ),
    ],
)
def test_a_broken_rule_is_found(tmp_path: pathlib.Path, path: str, text: str, complaint: str) -> None:
    clock = tmp_path / "services/janitor/src/manta_janitor/clock.py"
    clock.parent.mkdir(parents=True)
    clock.write_text("import time\n\n\ndef tick(): ...\n")
    target = tmp_path / path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text)
    found = findings(tmp_path)
    assert len(found) == 1, found
    assert complaint in found[0]
    assert path in found[0]


def test_a_main_beside_pure_modules_may_use_the_environment(tmp_path: pathlib.Path) -> None:
    target = tmp_path / "libs/common/src/manta_common/api/__main__.py"
    target.parent.mkdir(parents=True)
    target.write_text("import os")
    assert findings(tmp_path) == []
