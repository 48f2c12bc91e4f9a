"""Reads Prometheus text with Prometheus' own parser."""

from prometheus_client.parser import text_string_to_metric_families

Sample = tuple[str, tuple[tuple[str, str], ...]]


def samples(text: str) -> dict[Sample, float]:
    """Every number by name and sorted labels; the same series twice, or a metric in two pieces, is an error."""
    found: dict[Sample, float] = {}
    families: set[str] = set()
    for family in text_string_to_metric_families(text):
        assert family.name not in families, f"{family.name} is in two pieces"
        families.add(family.name)
        for sample in family.samples:
            place = (sample.name, tuple(sorted(sample.labels.items())))
            assert place not in found, f"{place} is there twice"
            found[place] = sample.value
    return found
