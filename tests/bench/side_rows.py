"""The rows of a comparison: what is measured, which sides can do it, and how often."""

from typing import NamedTuple

from tests.bench import side_growth, side_scale
from tests.bench.side_clusters import at_rest, clusters, creates, large
from tests.bench.side_jobs import hung, jobs, services
from tests.bench.side_operators import REPLICAS, replicated
from tests.bench.side_results import KUBERAY, MANTA, SIDES, TUNED
from tests.bench.side_world import Measure

OPERATORS = (KUBERAY, TUNED, MANTA)


class Row(NamedTuple):
    """What is measured of each side, in rounds."""

    measure: Measure
    sides: tuple[str, ...] = SIDES
    rounds: int = 3
    dashboards: str = ""


ROWS: dict[str, Row] = {
    "creates-500": Row(creates(500)),
    "clusters-100": Row(clusters(100)),
    "large-500": Row(large(500)),
    "jobs-50": Row(jobs(50), dashboards="jobs"),
    "services-100": Row(services(100), dashboards="serves"),
    "hung-20": Row(hung(20), OPERATORS, dashboards="jobs"),
    "rest-100": Row(at_rest, OPERATORS, rounds=2),
    "replicas": Row(clusters(100), tuple(replicated(number) for number in REPLICAS)),
    "large-2000": Row(large(2000), rounds=1),
    "jobs-500": Row(jobs(500), rounds=1, dashboards="jobs"),
    "hung-100": Row(hung(100), OPERATORS, rounds=1, dashboards="jobs"),
    "clusters-1000": Row(clusters(1000), rounds=1),
    side_scale.CLUSTERS: Row(side_growth.clusters, (MANTA,), rounds=1),
    side_scale.JOBS: Row(side_growth.jobs, (MANTA,), rounds=1, dashboards="jobs"),
}
