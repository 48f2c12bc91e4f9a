"""Starts the watcher."""

import sys

from manta_common.run import run
from manta_watcher.config import Config
from manta_watcher.main import ABOUT, main

if __name__ == "__main__":
    sys.exit(run(Config, main, about=ABOUT))
