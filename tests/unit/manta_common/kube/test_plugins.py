"""A credential plug-in that hangs is ended."""

import asyncio
import pathlib

import pytest

from manta_common.errors import Misconfigured
from manta_common.kube.plugins import Plugin, ask
from tests.parts.eventually import eventually


def shell(text: str) -> Plugin:
    return Plugin(command="/bin/sh", args=("-c", text), api_version="client.authentication.k8s.io/v1")


def runs(number: pathlib.Path) -> bool | None:
    """Whether the process whose number is in this file runs; None when it does not."""
    return (number.exists() and pathlib.Path(f"/proc/{number.read_text().strip()}").exists()) or None


async def test_a_plugin_that_hangs_is_ended(tmp_path: pathlib.Path) -> None:
    number = tmp_path / "number"
    with pytest.raises(Misconfigured, match=r"did not answer within 0.5 s"):
        await ask(shell(f"echo $$ > {number}; exec sleep 600"), {}, limit_seconds=0.5)
    assert not runs(number)


async def test_a_plugin_that_asks_a_question_gets_no_answer() -> None:
    with pytest.raises(Misconfigured, match="something else"):
        await ask(shell("read answer; echo got $answer"), {})


async def test_a_talkative_plugin_does_not_block() -> None:
    status = '{"status": {"token": "t"}}'
    found = await ask(shell(f"head -c 300000 /dev/zero >&2; echo '{status}'"), {})
    assert found.token == "t"
    assert "t" not in repr(found).removeprefix("Credential")


async def test_a_plugin_is_told_of_the_cluster_if_it_wants() -> None:
    plugin = Plugin(command="/bin/sh", args=("-c", WANTS_SERVER), api_version="v1", provide_cluster_info=True)
    assert (await ask(plugin, {"server": "https://x"})).token == "known"


async def test_a_cancelled_call_leaves_no_plugin_behind(tmp_path: pathlib.Path) -> None:
    number = tmp_path / "number"
    asking = asyncio.create_task(ask(shell(f"echo $$ > {number}.new; mv {number}.new {number}; exec sleep 600"), {}))
    await eventually("the plug-in runs", lambda: asyncio.to_thread(runs, number), limit_seconds=10)
    asking.cancel()
    await asyncio.wait([asking])
    assert not runs(number)


WANTS_SERVER = """case "$KUBERNETES_EXEC_INFO" in *https://x*) echo '{"status": {"token": "known"}}';; esac"""
