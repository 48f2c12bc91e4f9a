"""The way out of the pods' network."""

import asyncio
import socket

from manta_embedded.node.proxy import way_out


async def direct(host: str, port: int) -> socket.socket:
    """A connection of this process."""
    opened = socket.socket()
    opened.setblocking(False)
    await asyncio.get_running_loop().sock_connect(opened, (host, port))
    return opened


async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Says what it is told, and ends when the other does."""
    writer.write(b"echo " + await reader.read())
    writer.close()


async def asked(url: str, text: bytes) -> bytes:
    """What comes back for a text."""
    host, _, port = url.removeprefix("http://").partition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(text)
    writer.write_eof()
    answer = await reader.read()
    writer.close()
    return answer


async def test_who_asks_is_let_through() -> None:
    there = await asyncio.start_server(echo, "127.0.0.1", 0)
    port = there.sockets[0].getsockname()[1]
    async with way_out("127.0.0.1", direct) as url:
        answer = await asked(url, f"CONNECT 127.0.0.1:{port} HTTP/1.1\r\nHost: x\r\n\r\nhello".encode())
    there.close()
    assert answer == b"HTTP/1.1 200 Connection established\r\n\r\necho hello"


async def test_nobody_there() -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    async with way_out("127.0.0.1", direct) as url:
        answer = await asked(url, f"CONNECT 127.0.0.1:{port} HTTP/1.1\r\n\r\n".encode())
    assert answer.startswith(b"HTTP/1.1 502 ")


async def test_anything_else_is_refused() -> None:
    async with way_out("127.0.0.1", direct) as url:
        assert (await asked(url, b"GET http://x/ HTTP/1.1\r\n\r\n")).startswith(b"HTTP/1.1 405 ")
        assert (await asked(url, b"nonsense")).startswith(b"HTTP/1.1 502 ")
