"""What a decision consists of: phases, one after the other. It is here so that pure code can name it."""

from collections.abc import Sequence
from typing import TypeVar

A = TypeVar("A")

Phase = Sequence[A]  # actions that do not depend on each other
