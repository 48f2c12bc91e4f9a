"""Starts the cluster-reconciler."""

import sys

from manta_cluster_reconciler.config import Config
from manta_cluster_reconciler.main import ABOUT, main
from manta_common.run import run

if __name__ == "__main__":
    sys.exit(run(Config, main, about=ABOUT))
