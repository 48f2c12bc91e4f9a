"""Starts the janitor."""

import sys

from manta_common.run import run
from manta_janitor.config import Config
from manta_janitor.main import ABOUT, main

if __name__ == "__main__":
    sys.exit(run(Config, main, about=ABOUT))
