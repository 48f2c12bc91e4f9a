"""What can be set about talking to a Kubernetes API; the defaults suit an API server with its own defaults."""

from collections.abc import Callable

import msgspec

OnCall = Callable[[str, str, str, float], None]  # verb, kind, outcome ("ok" or the error's name), seconds


class KubeSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Limits in time and number. `service` names us to the server (user agent, field manager)."""

    service: str = "manta"
    get_seconds: float = 15.0
    list_seconds: float = 60.0  # for each page; the API server's own limit
    write_seconds: float = 35.0  # the API server gives up a write after 34
    watch_open_seconds: float = 35.0
    watch_idle_seconds: float = 90.0  # a healthy watch brings a bookmark every minute
    watch_seconds: float = 300.0  # after that time or up to twice as much the server ends a watch
    page_size: int = 500
    throttled_tries: int = 5
    qps: float = 0.0
    burst: int = 0
    connections: int = 64  # watches are not counted
    keepalive_seconds: float = 30.0  # well below the server's 90, so that it rarely closes what we are about to use
    compress_lists: bool = True  # unpacking takes us less time than deciphering what is longer
