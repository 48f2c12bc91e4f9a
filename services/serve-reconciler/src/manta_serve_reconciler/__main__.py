"""Starts the serve-reconciler."""

import sys

from manta_common.run import run
from manta_serve_reconciler.config import Config
from manta_serve_reconciler.main import ABOUT, main

if __name__ == "__main__":
    sys.exit(run(Config, main, about=ABOUT))
