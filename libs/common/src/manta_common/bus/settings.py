"""How to reach NATS and how Manta's streams are kept."""

import pathlib
from urllib.parse import urlsplit

import msgspec


class BusSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How to reach NATS. A URL may carry `user:password@` or `token@`; the first that answers is taken.

    `replicas` of None keeps what an existing stream has, and makes a new one with one replica.
    """

    urls: tuple[str, ...] = ("nats://127.0.0.1:4222",)
    name: str = "manta"
    credentials_file: pathlib.Path | None = None
    ca_file: pathlib.Path | None = None
    replicas: int | None = None
    first_connect_seconds: float = 60
    publish_limit_seconds: float = 5
    window_messages: int = 1024
    window_bytes: int = 32 * 1024 * 1024


def client_name(service: str) -> str:
    """As whom a service connects."""
    return f"manta-{service}"


def inbox_prefix(name: str) -> str:
    """Where answers to a client arrive: in a place of its own, so that NATS can keep others from listening."""
    return f"_INBOX.{name}"


def redacted(url: str) -> str:
    """The URL without its secrets, fit for logs and messages."""
    parts = urlsplit(url if "://" in url else f"nats://{url}")
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"
