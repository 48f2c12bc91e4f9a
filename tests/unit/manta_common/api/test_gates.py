"""Feature gates: KubeRay's defaults, and the text by which users set them."""

import msgspec
import pytest

from manta_common.api.gates import GateError, Gates, defaults


def test_the_defaults_are_kuberays() -> None:
    assert defaults() == {
        "RayClusterStatusConditions": True,
        "RayJobDeletionPolicy": True,
        "RayMultiHostIndexing": True,
        "RayServiceIncrementalUpgrade": True,
        "RayCronJob": False,
        "SidecarSubmitterRestart": False,
        "RayClusterNetworkPolicy": False,
        "GCSFaultToleranceEmbeddedStorage": False,
        "RayClusterMTLS": False,
        "RayClusterHistoryServer": False,
        "KubernetesWAS": False,
    }


@pytest.mark.parametrize(
    ("text", "gates"),
    [
        pytest.param("", Gates(), id="nothing"),
        pytest.param(" , ", Gates(), id="nothing but commas"),
        pytest.param("RayCronJob=true", Gates(cron_job=True), id="one on"),
        pytest.param(
            " RayCronJob = T , RayMultiHostIndexing=0",
            Gates(cron_job=True, multi_host_indexing=False),
            id="with spaces",
        ),
        pytest.param("RayCronJob=true,RayCronJob=false", Gates(), id="the last word counts"),
        pytest.param(
            "AllBeta=false,RayJobDeletionPolicy=true",
            Gates(status_conditions=False, multi_host_indexing=False, incremental_upgrade=False),
            id="a group, and one of it otherwise",
        ),
        pytest.param(
            "RayClusterMTLS=false,AllAlpha=true",
            Gates(
                cron_job=True,
                sidecar_restart=True,
                network_policy=True,
                embedded_storage=True,
                history_server=True,
                workload_scheduling=True,
            ),
            id="a group does not undo what was said of one",
        ),
    ],
)
def test_a_text_sets_gates(text: str, gates: Gates) -> None:
    assert Gates.parse(text) == gates


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        pytest.param("RayCronjob=true", "unknown feature gate 'RayCronjob': did you mean 'RayCronJob'?", id="a slip"),
        pytest.param(
            "NetworkPolicy=true",
            "unknown feature gate 'NetworkPolicy': did you mean 'RayClusterNetworkPolicy'?",
            id="half a name",
        ),
        pytest.param("Xyz=true", "unknown feature gate 'Xyz': known are RayClusterStatusConditions, ", id="a riddle"),
        pytest.param(
            "RayCronJob",
            "feature gate RayCronJob has no value: write RayCronJob=true or RayCronJob=false",
            id="no value",
        ),
        pytest.param("RayCronJob=yes", "feature gate RayCronJob must be true or false, not 'yes'", id="no truth value"),
        pytest.param("=true", "unknown feature gate ''", id="no name"),
    ],
)
def test_a_wrong_text_is_explained(text: str, complaint: str) -> None:
    with pytest.raises(GateError) as caught:
        Gates.parse(text)
    assert str(caught.value).startswith(complaint)


def test_gates_are_written_by_kuberays_names() -> None:
    assert msgspec.json.decode(msgspec.json.encode(Gates(cron_job=True)))["RayCronJob"] is True
