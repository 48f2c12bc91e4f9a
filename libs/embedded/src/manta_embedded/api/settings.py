"""How the API is set up."""

from pathlib import Path

import msgspec

LOOPBACK = "127.0.0.1"


class ApiSettings(msgspec.Struct, frozen=True, kw_only=True):
    """`folder` holds everything that lasts: objects, certificates and tokens. Port 0 is any free one, kept for the
    next start; `names` are further names and addresses that the certificate is for."""

    folder: Path
    port: int = 0
    addresses: tuple[str, ...] = (LOOPBACK,)
    names: tuple[str, ...] = ()
    persistent: bool = True
