"""What can be wrong with a run on the simulator; the services never see these."""


class SimulationError(Exception):
    """The run cannot go on."""


class Deadlock(SimulationError):
    """Everything waits, and nothing will ever wake it."""


class OutOfTime(SimulationError):
    """More virtual time has passed than the run may take."""


class OutOfSteps(SimulationError):
    """More callbacks ran than a run may take: something spins without waiting."""


class NeverHappened(SimulationError):
    """What a scenario waited for did not come about in its time."""
