"""Starts the job-reconciler."""

import sys

from manta_common.service import run

if __name__ == "__main__":
    sys.exit(run("job-reconciler"))
