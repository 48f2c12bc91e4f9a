"""The watcher's settings: those of every service."""

from typing import ClassVar

import manta_common.config


class Config(manta_common.config.Config, frozen=True, kw_only=True):
    """Nothing of its own yet."""

    SERVICE: ClassVar[str] = "watcher"
