"""Credentials are read when they run out or are refused, once for all callers, and kept while nothing better is had."""

import asyncio
import pathlib

import pytest
import trustme

from manta_common.errors import Misconfigured
from manta_common.kube.access import Access
from manta_common.kube.connection import Connection


class Tokens:
    """A source of tokens that counts how often it was asked; it fails when told to."""

    def __init__(self, ca_file: str = "") -> None:
        self.asked, self.fails, self._ca_file = 0, False, ca_file

    async def __call__(self) -> Access:
        await asyncio.sleep(0)
        if self.fails:
            raise Misconfigured("not to be had")
        self.asked += 1
        token = f"Bearer {self.asked}"
        return Access(server="https://x", authorization=token, lasts_seconds=100, ca_file=self._ca_file)


class Clock:
    """A clock that the test moves."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


async def token(connection: Connection) -> str:
    return (await connection.current()).access.authorization


async def test_a_token_is_used_until_it_runs_out() -> None:
    clock = Clock()
    connection = Connection(Tokens(), clock)
    assert await token(connection) == "Bearer 1"
    clock.seconds = 99
    assert await token(connection) == "Bearer 1"
    clock.seconds = 100
    assert await token(connection) == "Bearer 2"


async def test_many_callers_read_it_once() -> None:
    tokens = Tokens()
    connection = Connection(tokens)
    assert set(await asyncio.gather(*(token(connection) for _ in range(20)))) == {"Bearer 1"}
    assert tokens.asked == 1


async def test_a_refused_token_is_read_again_once_however_many_were_refused_with_it() -> None:
    tokens = Tokens()
    connection = Connection(tokens)
    used = await connection.current()
    fresh = await asyncio.gather(*(connection.refused(used) for _ in range(20)))
    assert {reach.access.authorization for reach in fresh} == {"Bearer 2"}
    assert tokens.asked == 2


async def test_an_old_token_is_kept_while_no_new_one_is_had() -> None:
    clock, tokens = Clock(), Tokens()
    connection = Connection(tokens, clock)
    await connection.current()
    tokens.fails, clock.seconds = True, 150
    assert await token(connection) == "Bearer 1"
    tokens.fails, clock.seconds = False, 155
    assert await token(connection) == "Bearer 1"
    clock.seconds = 161
    assert await token(connection) == "Bearer 2"


async def test_without_any_token_ever_there_is_an_error() -> None:
    tokens = Tokens()
    tokens.fails = True
    with pytest.raises(Misconfigured, match="not to be had"):
        await Connection(tokens).current()


async def test_open_connections_are_kept_while_certificates_stay_and_left_when_they_change(
    tmp_path: pathlib.Path,
) -> None:
    ca = tmp_path / "ca.pem"
    trustme.CA().cert_pem.write_to_path(ca)
    connection = Connection(Tokens(ca_file=str(ca)))
    first = await connection.current()
    second = await connection.refused(first)
    assert second.tls is first.tls
    trustme.CA().cert_pem.write_to_path(ca)
    assert (await connection.refused(second)).tls is not first.tls


@pytest.mark.parametrize("content", [b"", b"no certificate"])
async def test_certificates_that_cannot_be_used_are_named(tmp_path: pathlib.Path, content: bytes) -> None:
    (tmp_path / "ca.pem").write_bytes(content)
    with pytest.raises(Misconfigured, match="the certificates for https://x cannot be used"):
        await Connection(Tokens(ca_file=str(tmp_path / "ca.pem"))).current()
