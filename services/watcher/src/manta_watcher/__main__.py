"""Starts the watcher."""

import sys

from manta_common.service import run

if __name__ == "__main__":
    sys.exit(run("watcher"))
