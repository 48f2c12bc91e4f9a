"""Starts the dashboard-gateway."""

import sys

from manta_common.run import run
from manta_dashboard_gateway.config import Config
from manta_dashboard_gateway.main import ABOUT, main

if __name__ == "__main__":
    sys.exit(run(Config, main, about=ABOUT))
