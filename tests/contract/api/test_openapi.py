"""The shapes of built-in kinds are those that the API server publishes."""

from manta_embedded.store.openapi import ROOTS, document, stored, taken_from
from tests.parts.cluster import Cluster


def test_the_shapes_of_built_in_kinds_are_those_of_the_server(kubernetes: Cluster) -> None:
    documents = [kubernetes.request("GET", f"openapi/v3/{document(group)}") for group in ROOTS]
    assert taken_from(documents) == stored(), "run `make crds-kubernetes` and commit what it writes"
