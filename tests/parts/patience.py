"""How much longer than on a calm machine a thing may take before a test calls it wrong."""

PATIENCE = 4


def patient(seconds: float) -> float:
    """A limit for a machine that is slow or stands still for a while; nothing waits longer for it when all is well."""
    return PATIENCE * seconds
