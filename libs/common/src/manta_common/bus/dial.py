"""Making one connection to NATS, and refusing a server that Manta cannot work with."""

import asyncio
import importlib.util
import pathlib
import ssl
from typing import Any

import nats.errors

from manta_common.bus.faults import translated
from manta_common.bus.life import Life
from manta_common.bus.settings import BusSettings, inbox_prefix, redacted
from manta_common.errors import Misconfigured, Unreachable

DIAL_LIMIT_SECONDS = 8.0
CONNECT_LIMIT_SECONDS = 3
FLUSH_LIMIT_SECONDS = 5.0
CREDENTIAL_MARKS = ("BEGIN NATS USER JWT", "BEGIN USER NKEY SEED")
OLDEST_SERVER = (2, 11)  # the first with a time to live per message
SMALLEST_MAX_PAYLOAD = 8_000_000  # an object in etcd has up to 1.5 MB, and a job's logs are cut at less than this


async def dial(url: str, settings: BusSettings) -> Life:
    """A connection to one server; Misconfigured when a person must change something, Unreachable otherwise."""
    life = Life()
    options = _options(settings)
    try:
        with translated(f"connecting to {redacted(url)}"):
            async with asyncio.timeout(DIAL_LIMIT_SECONDS):
                await _connect(life, url, options)
                await life.mailbox.open()
        _check_server(life, redacted(url))
    except BaseException:
        await life.close()
        raise
    return life


async def _connect(life: Life, url: str, options: dict[str, Any]) -> None:
    try:
        await life.client.connect(
            servers=[url],
            error_cb=life.on_error,
            closed_cb=life.on_closed,
            allow_reconnect=False,
            max_reconnect_attempts=1,  # none means for ever
            reconnect_time_wait=0,
            connect_timeout=CONNECT_LIMIT_SECONDS,
            flush_timeout=FLUSH_LIMIT_SECONDS,
            **options,
        )
    except ssl.SSLCertVerificationError as error:
        raise Misconfigured(
            f"the certificate of {redacted(url)} is not trusted ({error.verify_message}): set nats_ca_file to the CA's"
            " certificate, and use the host name that the server's certificate names"
        ) from error
    except nats.errors.NoServersError as error:
        raise Unreachable(f"{redacted(url)}: {life.last_error or error}") from error
    except nats.errors.Error as error:
        if "authorization" in str(error).lower() or "authentication" in str(error).lower():
            raise Misconfigured(
                f"{redacted(url)} refuses us ({error}): check the user and password, or the token, in the URL,"
                " or nats_credentials_file"
            ) from error
        raise


def _options(settings: BusSettings) -> dict[str, Any]:
    options: dict[str, Any] = {"name": settings.name, "inbox_prefix": inbox_prefix(settings.name)}
    if settings.ca_file:
        options["tls"] = _tls(settings)
    if settings.credentials_file:
        options["user_credentials"] = str(_credentials(settings.credentials_file))
    return options


def _credentials(file: pathlib.Path) -> pathlib.Path:
    """A file that the library can read: it would look for the marks in any other for ever."""
    try:
        text = file.read_text(errors="replace")
    except OSError as error:
        raise Misconfigured(f"nats_credentials_file: {file} cannot be read: {error}") from error
    if not all(mark in text for mark in CREDENTIAL_MARKS):
        raise Misconfigured(f"nats_credentials_file: {file} is not one: it must hold a user's JWT and seed")
    if importlib.util.find_spec("nkeys") is None:
        raise Misconfigured("nats_credentials_file needs the package nkeys: install nats-py[nkeys], or use a password")
    return file


def _tls(settings: BusSettings) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=str(settings.ca_file))
    except OSError as error:
        raise Misconfigured(f"nats_ca_file: {settings.ca_file} is not a certificate file: {error}") from error


def _check_server(life: Life, url: str) -> None:
    version = life.client.connected_server_version
    if (version.major, version.minor) < OLDEST_SERVER:
        raise Misconfigured(
            f"the NATS server at {url} has version {version.major}.{version.minor}: messages that expire need"
            f" {OLDEST_SERVER[0]}.{OLDEST_SERVER[1]} or newer; upgrade it"
        )
    if life.client.max_payload < SMALLEST_MAX_PAYLOAD:
        raise Misconfigured(
            f"the NATS server at {url} takes messages of {life.client.max_payload} bytes at most:"
            " set `max_payload: 8MB` in its configuration"
        )
