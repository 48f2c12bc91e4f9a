"""Getting in: passwords, tokens and TLS; and plain words when a NATS cannot be used."""

import asyncio
import contextlib
import json
import pathlib
import secrets
from collections.abc import AsyncIterator, Callable, Iterator

import pytest
import trustme
from nats.aio.client import Client

from manta_common.bus.nats_bus import open_bus
from manta_common.bus.settings import BusSettings
from manta_common.errors import Misconfigured, Unreachable
from tests.parts import nats as nats_part
from tests.parts.patience import patient
from tests.parts.ports import free_ports
from tests.parts.process import accepts
from tests.parts.server import data_folder, fresh_folder

UP_LIMIT_SECONDS = 20
Start = Callable[[str], str]
NO_JETSTREAM = "max_payload: 8MB\n"
JETSTREAM = 'max_payload: 8MB\njetstream { store_dir: "DATA" }\n'
WITH_RIGHTS = """authorization { users: [
    { user: "all", password: "sesame" },
    { user: "manta", password: "sesame", permissions: %s },
] }
"""


@pytest.fixture
def start(parts_folder: pathlib.Path) -> Iterator[Start]:
    """Starts a NATS with a configuration of its own, in which DATA stands for a folder; `host:port` of it."""
    with contextlib.ExitStack() as started:

        def begin(config: str) -> str:
            folder, port = fresh_folder(parts_folder, "nats"), free_ports(1)[0]
            whole = f'listen: "127.0.0.1:{port}"\n{config.replace("DATA", str(data_folder(folder)))}'
            program = nats_part.native(folder, port, whole)
            started.callback(program.stop)
            program.start()
            program.wait_until("it listens", lambda: accepts(port), limit_seconds=UP_LIMIT_SECONDS)
            return f"127.0.0.1:{port}"

        yield begin


async def test_a_user_and_a_password_in_the_url(start: Start) -> None:
    address = start(JETSTREAM + 'authorization { user: "manta", password: "sesame" }\n')
    await _works(BusSettings(urls=(f"nats://manta:sesame@{address}",)))


async def test_a_token_in_the_url(start: Start) -> None:
    address = start(JETSTREAM + 'authorization { token: "sesame" }\n')
    await _works(BusSettings(urls=(f"nats://sesame@{address}",)))


async def test_a_wrong_password_is_named_and_not_shown(start: Start) -> None:
    address = start(JETSTREAM + 'authorization { user: "manta", password: "sesame" }\n')
    with pytest.raises(Misconfigured, match="user and password") as raised:
        await _works(BusSettings(urls=(f"nats://manta:wrong-word@{address}",)))
    assert "wrong-word" not in str(raised.value)


async def test_tls_with_a_ca_of_our_own(start: Start, tmp_path: pathlib.Path) -> None:
    settings = _tls(start, tmp_path)
    await _works(settings)


async def test_a_certificate_that_is_not_trusted_is_named(start: Start, tmp_path: pathlib.Path) -> None:
    settings = _tls(start, tmp_path)
    with pytest.raises(Misconfigured, match="ca_file"):
        await _works(BusSettings(urls=settings.urls))


async def test_a_ca_file_that_is_none_is_named(tmp_path: pathlib.Path) -> None:
    wrong = tmp_path / "ca.pem"
    wrong.write_text("not a certificate")
    with pytest.raises(Misconfigured, match="ca_file"):
        await _works(BusSettings(ca_file=wrong))


async def test_a_credentials_file_that_is_not_there_is_named(tmp_path: pathlib.Path) -> None:
    with pytest.raises(Misconfigured, match="credentials_file"):
        await _works(BusSettings(credentials_file=tmp_path / "none.creds"))


async def test_a_credentials_file_that_is_none_is_named(tmp_path: pathlib.Path) -> None:
    wrong = tmp_path / "user.creds"
    wrong.write_text("not credentials")
    with pytest.raises(Misconfigured, match="credentials_file"):
        await _works(BusSettings(credentials_file=wrong))


async def test_no_jetstream_is_named(start: Start) -> None:
    with pytest.raises(Misconfigured, match="JetStream"):
        await _works(BusSettings(urls=(start(NO_JETSTREAM),)))


async def test_an_account_without_jetstream_is_named(start: Start) -> None:
    account = 'accounts { A { users: [{ user: "manta", password: "sesame" }] } }\n'
    with pytest.raises(Misconfigured, match="account"):
        await _works(BusSettings(urls=(f"nats://manta:sesame@{start(JETSTREAM + account)}",)))


async def test_a_max_payload_that_is_too_small_is_named(start: Start) -> None:
    with pytest.raises(Misconfigured, match="max_payload: 8MB"):
        await _works(BusSettings(urls=(start('jetstream { store_dir: "DATA" }\n'),)))


@pytest.mark.parametrize(
    ("rights", "named"),
    [
        pytest.param('{ publish: { deny: "$JS.API.STREAM.CREATE.>" } }', "stream.create", id="to make streams"),
        pytest.param('{ publish: { deny: "$JS.API.STREAM.INFO.>" } }', "stream.info", id="to look at streams"),
        pytest.param('{ subscribe: { deny: "_INBOX.>" } }', "_inbox", id="to get answers"),
        pytest.param('{ publish: { deny: "manta.v1.state.>" } }', "manta.v1.state.1.plain.toy", id="to write"),
        pytest.param('{ publish: { deny: "$JS.API.CONSUMER.CREATE.>" } }', "consumer.create", id="to read"),
        pytest.param(
            '{ publish: { deny: "$JS.API.CONSUMER.MSG.NEXT.>" } }', "consumer.msg.next", id="to go on reading"
        ),
    ],
)
async def test_missing_rights_are_named(start: Start, rights: str, named: str) -> None:
    address = start(JETSTREAM + WITH_RIGHTS % rights)
    with pytest.raises(Misconfigured, match="rights") as raised:
        await _works(BusSettings(urls=(f"nats://manta:sesame@{address}",)))
    assert named in str(raised.value)


async def test_a_reader_needs_no_right_to_make_streams_that_exist(start: Start) -> None:
    deny = '{ publish: { deny: ["$JS.API.STREAM.CREATE.>", "$JS.API.STREAM.UPDATE.>"] } }'
    address = start(JETSTREAM + WITH_RIGHTS % deny)
    await _works(BusSettings(urls=(f"nats://all:sesame@{address}",)))
    await _works(BusSettings(urls=(f"nats://manta:sesame@{address}",)))


async def test_a_stream_that_takes_our_subjects_is_named(start: Start) -> None:
    address = start(JETSTREAM)
    await _make_stream(address, {"name": "OTHER", "subjects": ["manta.>"]})
    with pytest.raises(Misconfigured, match="another stream takes these subjects"):
        await _works(BusSettings(urls=(address,)))


async def test_a_stream_of_another_storage_is_named(start: Start) -> None:
    address = start(JETSTREAM)
    await _make_stream(address, {"name": "MANTA_STATE", "subjects": ["manta.v1.state.>"], "storage": "memory"})
    with pytest.raises(Misconfigured, match="MANTA_STATE"):
        await _works(BusSettings(urls=(address,)))


async def test_a_server_that_is_too_old_is_named() -> None:
    async with _greeting({"version": "2.10.29", "max_payload": 8388608, "jetstream": True}) as url:
        with pytest.raises(Misconfigured, match=r"2\.10.*2\.11"):
            await _works(BusSettings(urls=(url,)))


async def test_a_server_that_is_not_there_is_waited_for() -> None:
    settings = BusSettings(urls=(f"nats://127.0.0.1:{free_ports(1)[0]}",), first_connect_seconds=0.3)
    with pytest.raises(Unreachable, match=r"nats://127.*(refused|failed)"):
        await _works(settings)


async def test_of_several_servers_one_that_is_there_is_enough(start: Start) -> None:
    dead = f"nats://127.0.0.1:{free_ports(1)[0]}"
    await _works(BusSettings(urls=(dead, start(JETSTREAM), dead)))


async def test_streams_are_changed_to_what_is_wanted_and_keep_the_rest(start: Start) -> None:
    address = start(JETSTREAM)
    old = {"name": "MANTA_STATE", "subjects": ["manta.v1.state.>"], "description": "ours", "max_msgs_per_subject": 5}
    await _make_stream(address, old)
    await _works(BusSettings(urls=(address,)))
    found = (await _asked(address, "$JS.API.STREAM.INFO.MANTA_STATE", {}))["config"]
    assert (found["max_msgs_per_subject"], found["allow_msg_ttl"], found["description"]) == (1, True, "ours")


async def test_a_stream_of_a_newer_manta_is_left_alone(start: Start) -> None:
    address = start(JETSTREAM)
    newer = {
        "name": "MANTA_STATE",
        "subjects": ["manta.v1.state.>"],
        "max_msgs_per_subject": 2,
        "metadata": {"manta.version": "99"},
    }
    await _make_stream(address, newer)
    await _works(BusSettings(urls=(address,)))
    found = (await _asked(address, "$JS.API.STREAM.INFO.MANTA_STATE", {}))["config"]
    assert found["max_msgs_per_subject"] == 2


async def _works(settings: BusSettings) -> None:
    """Write something and read it again."""
    async with open_bus(settings) as bus:
        subject = f"manta.v1.state.1.plain.toy.default.{secrets.token_hex(4)}"
        await bus.publish(subject, b"here")
        last = await bus.last(subject)
        async with bus.replay([subject]) as batches:
            batch = await anext(batches)
        assert last is not None
        assert batch.messages == (last,)


def _tls(start: Start, folder: pathlib.Path) -> BusSettings:
    authority = trustme.CA()
    server = authority.issue_cert("127.0.0.1")
    server.private_key_pem.write_to_path(folder / "key.pem")
    server.cert_chain_pems[0].write_to_path(folder / "cert.pem")
    authority.cert_pem.write_to_path(folder / "ca.pem")
    tls = f'tls {{ cert_file: "{folder}/cert.pem", key_file: "{folder}/key.pem" }}\n'
    return BusSettings(urls=(f"tls://{start(JETSTREAM + tls)}",), ca_file=folder / "ca.pem")


@contextlib.asynccontextmanager
async def _greeting(about: dict[str, object]) -> AsyncIterator[str]:
    """A server that says what it is, and answers pings."""

    async def greet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"INFO " + json.dumps(about).encode() + b"\r\n")
        while line := await reader.readline():
            if line.startswith(b"PING"):
                writer.write(b"PONG\r\n")
        writer.close()

    server = await asyncio.start_server(greet, "127.0.0.1", 0)
    async with server:
        yield "nats://{}:{}".format(*server.sockets[0].getsockname())


async def _make_stream(address: str, config: dict[str, object]) -> None:
    answer = await _asked(address, f"$JS.API.STREAM.CREATE.{config['name']}", config)
    assert "error" not in answer


async def _asked(address: str, subject: str, question: dict[str, object]) -> dict[str, dict[str, object]]:
    client = Client()
    await client.connect(f"nats://{address}")
    answer = await client.request(subject, json.dumps(question).encode(), timeout=patient(5))
    await client.close()
    found: dict[str, dict[str, object]] = json.loads(answer.data)
    return found
