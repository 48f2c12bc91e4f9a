"""The shapes of built-in kinds are those that the API server publishes."""

from typing import Any

from manta_embedded.api import documents
from manta_embedded.store.openapi import ROOTS, document, stored, taken_from
from tests.parts.cluster import Cluster


def test_the_shapes_of_built_in_kinds_are_those_of_the_server(kubernetes: Cluster) -> None:
    documents = [kubernetes.request("GET", f"openapi/v3/{document(group)}") for group in ROOTS]
    assert taken_from(documents) == stored(), "run `make crds-kubernetes` and commit what it writes"


def test_the_schemas_that_kubectl_explains_have_the_fields_of_the_server(kubernetes: Cluster) -> None:
    groups = [document(group) for group in (*ROOTS, documents.CRDS)]
    published = documents.taken_from(kubernetes.request("GET", f"openapi/v3/{group}") for group in groups)
    why = "run `make crds-kubernetes` and commit what it writes"
    # Texts and enumerations differ with the features that a server has switched on.
    assert _fields(published) == _fields(documents.stored()), why


def _fields(schemas: dict[str, Any]) -> dict[str, set[str]]:
    return {name: set(schema.get("properties", ())) for name, schema in schemas.items()}
