"""Plays one case of a campaign again and prints what happened: `python -m tests.model.campaign scale/stale-view/7`."""

import sys

from manta_embedded.sim.simulate import ScenarioFailed
from tests.model.campaign.runs import Case, run


def main(name: str) -> int:
    """Play it; 1 when it fails."""
    try:
        world = run(Case.named(name))
    except ScenarioFailed as failed:
        sys.stdout.write(f"{failed.history.text()}\n\n{type(failed.error).__name__}: {failed.error}\n")
        return 1
    sys.stdout.write(f"{world.history.text()}\n\nit ends as without the fault\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
