"""Which feature gates are on in some version of KubeRay that was told so much. Pure."""

from typing import Final

from manta_common.api.gates import ALPHA_GROUP, BETA_GROUP, defaults

# Since when a gate is on by default (KubeRay 1.7.0 is the newest that Manta knows).
BETA_SINCE: Final = {
    "RayClusterStatusConditions": (1, 3),
    "RayJobDeletionPolicy": (1, 6),
    "RayMultiHostIndexing": (1, 6),
    "RayServiceIncrementalUpgrade": (1, 7),
}
NEWEST: Final = (1, 7)


def effective(text: str, version: tuple[int, int] | None) -> tuple[dict[str, bool], tuple[str, ...]]:
    """Every gate that Manta has as it is in that version with that flag, and the names that Manta does not know."""
    pairs = (part.partition("=") for part in text.split(",") if part.strip())
    asked = {name.strip(): value.strip().lower() in {"true", "t", "1"} for name, _, value in pairs}
    known = {name: _on(name, asked, version or NEWEST) for name in defaults()}
    return known, tuple(name for name in asked if name not in {*known, ALPHA_GROUP, BETA_GROUP})


def _on(name: str, asked: dict[str, bool], version: tuple[int, int]) -> bool:
    beta = name in BETA_SINCE and version >= BETA_SINCE[name]
    return asked.get(name, asked.get(BETA_GROUP if beta else ALPHA_GROUP, beta))
