"""Names that the server makes up."""

import random
import uuid

LETTERS = "bcdfghjklmnpqrstvwxz2456789"  # as Kubernetes has them: no vowels, so that no words come out
SUFFIX_CHARACTERS = 5
STEM_CHARACTERS = 63 - SUFFIX_CHARACTERS


def made_up(rng: random.Random, stem: str) -> str:
    """A name that begins with a stem, cut so that a label can hold it."""
    return stem[:STEM_CHARACTERS] + "".join(rng.choice(LETTERS) for _ in range(SUFFIX_CHARACTERS))


def new_uid(rng: random.Random) -> str:
    """A uid that nobody has."""
    return str(uuid.UUID(int=rng.getrandbits(128), version=4))
