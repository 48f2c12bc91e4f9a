"""Plays the stories of one seed again and prints what happened: `python -m tests.model.fuzz 7`."""

import sys

from manta_embedded.sim.simulate import ScenarioFailed
from tests.model.fuzz.runs import retold, run


def main(seed: str) -> int:
    """Play it; 1 when it fails."""
    try:
        world = run(int(seed))
    except ScenarioFailed as failed:
        sys.stdout.write(f"{retold(failed)}\n")
        return 1
    sys.stdout.write(f"{world.history.text()}\n\nall of it is as it should be\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
