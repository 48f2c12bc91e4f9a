"""The embedded API answers over HTTP as the API server does: codes, reasons, forms, and streams."""

import contextlib
import json
import secrets
from collections.abc import Iterator
from http.client import HTTPSConnection
from typing import Any
from urllib.parse import urlsplit

import msgspec
import pytest

from tests.parts.cluster import Cluster
from tests.parts.embedded_api import EmbeddedCluster
from tests.parts.process import wait_until

JSON = "application/json"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
MAPS = "/api/v1/namespaces/{space}/configmaps"
PROXIED = "/api/v1/namespaces/{space}/services"
FRONT = {"metadata": {"name": "front"}, "spec": {"selector": {"app": "none"}, "ports": [{"name": "web", "port": 80}]}}
GOOD = '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"good"}}'
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
DEFINITION = '{"metadata":{"name":"x"},"spec":{}}'
REVIEW = '{"spec":{"resourceAttributes":{"verb":"get","resource":"pods"}}}'


class Ask(msgspec.Struct, frozen=True):
    """One request."""

    method: str
    path: str
    body: str = ""
    content_type: str = JSON
    accept: str = JSON
    token: str | None = None


class Answer(msgspec.Struct, frozen=True):
    """What came back."""

    code: int
    content_type: str
    body: dict[str, Any]


def ask(cluster: Cluster, space: str, asked: Ask) -> Answer:
    """Ask, and read the answer."""
    with contextlib.closing(_connection(cluster)) as connection:
        token = cluster.token if asked.token is None else asked.token
        headers = {"Content-Type": asked.content_type, "Accept": asked.accept}
        headers |= {"Authorization": f"Bearer {token}"} if token else {}
        connection.request(asked.method, asked.path.format(space=space), asked.body or None, headers)
        answer = connection.getresponse()
        text = answer.read()
        assert answer.getheader("Date")
    body = json.loads(text) if text.startswith(b"{") else {"message": text.decode()}
    return Answer(answer.status, answer.getheader("Content-Type", "").partition(";")[0], body)


def _connection(cluster: Cluster) -> HTTPSConnection:
    address = urlsplit(cluster.server)
    return HTTPSConnection(address.hostname or "", address.port, context=cluster.tls, timeout=30)


@pytest.fixture(scope="module")
def pair(kubernetes: Cluster, embedded_cluster: EmbeddedCluster) -> Iterator[tuple[Cluster, Cluster, str]]:
    """Both APIs, and a namespace of the same name in each."""
    space = f"http-{secrets.token_hex(3)}"
    for cluster in (kubernetes, embedded_cluster):
        cluster.request("POST", "api/v1/namespaces", {"metadata": {"name": space}})
        cluster.request("POST", f"api/v1/namespaces/{space}/configmaps", json.loads(GOOD.replace("good", "there")))
        cluster.request("POST", f"api/v1/namespaces/{space}/services", FRONT)
    yield kubernetes, embedded_cluster, space
    for cluster in (kubernetes, embedded_cluster):
        cluster.request("DELETE", f"api/v1/namespaces/{space}")


@pytest.mark.parametrize(
    "asked",
    [
        pytest.param(Ask("POST", MAPS, "{broken"), id="malformed JSON"),
        pytest.param(Ask("POST", MAPS, '"text"'), id="JSON that is no object"),
        pytest.param(Ask("POST", MAPS, GOOD, "text/plain"), id="a body of another type"),
        pytest.param(Ask("PATCH", f"{MAPS}/there", "{}", JSON), id="a patch of another type"),
        pytest.param(Ask("PATCH", f"{MAPS}/there", "[1]", "application/json-patch+json"), id="a broken JSON patch"),
        pytest.param(Ask("PATCH", f"{MAPS}/there", "{broken", "application/merge-patch+json"), id="a broken patch"),
        pytest.param(Ask("PATCH", f"{MAPS}/there", GOOD, "application/apply-patch+yaml"), id="an apply by nobody"),
        pytest.param(Ask("POST", MAPS, " " * (3 * 1024 * 1024 + 1)), id="a body over 3 MiB"),
        pytest.param(Ask("POST", DEFINITIONS, DEFINITION), id="a CRD without anything in it"),
        pytest.param(Ask("GET", "/api/v1/namespaces/{space}/gizmos"), id="an unknown kind"),
        pytest.param(Ask("GET", "/apis/none.example/v1/things"), id="an unknown group"),
        pytest.param(Ask("GET", f"{MAPS}?labelSelector=a%20b"), id="a bad label selector"),
        pytest.param(Ask("GET", f"{MAPS}?fieldSelector=x"), id="a bad field selector"),
        pytest.param(Ask("GET", f"{MAPS}?fieldSelector=spec.none%3Dx"), id="a field that cannot be selected"),
        pytest.param(Ask("GET", f"{MAPS}?limit=1&continue=x"), id="a bad continue token"),
        pytest.param(Ask("GET", f"{MAPS}?resourceVersion=x"), id="a bad version"),
        pytest.param(Ask("GET", f"{MAPS}/absent"), id="no such object"),
        pytest.param(Ask("GET", MAPS, accept="text/csv"), id="a form that cannot be given"),
        pytest.param(Ask("GET", f"{MAPS}?watch=1&labelSelector=a%20b"), id="a watch by a bad selector"),
        pytest.param(Ask("GET", f"{MAPS}?watch=1&sendInitialEvents=true"), id="initial events by no match"),
        pytest.param(Ask("POST", f"{MAPS}?dryRun=Some", GOOD), id="an unknown dry run"),
        pytest.param(Ask("POST", f"{MAPS}?fieldManager={'x' * 129}", GOOD), id="a manager with too long a name"),
        pytest.param(Ask("POST", "/api/v1/configmaps", GOOD), id="a creation in no namespace"),
        pytest.param(Ask("DELETE", f"{MAPS}/there", '{"kind":"ConfigMap"}'), id="a deletion with another body"),
        pytest.param(Ask("GET", MAPS, token="wrong"), id="a token of nobody"),
        pytest.param(Ask("GET", MAPS, token=""), id="no token"),
        pytest.param(Ask("GET", "/api/v1/namespaces/{space}/pods/there/log"), id="a log of no pod"),
        pytest.param(Ask("GET", f"{PROXIED}/none/proxy/"), id="a way to no service"),
        pytest.param(Ask("GET", f"{PROXIED}/ftp:front:80/proxy/"), id="a way by an unknown scheme"),
        pytest.param(Ask("GET", f"{PROXIED}/front:80/proxy/a/b"), id="a way to a service without pods"),
        pytest.param(Ask("GET", f"{PROXIED}/front:81/proxy/"), id="a way to a port that a service has not"),
        pytest.param(Ask("GET", f"{PROXIED}/front:80/proxy/", token=""), id="a way for nobody"),
        pytest.param(Ask("GET", "/api/v1/namespaces/{space}/pods/none:80/proxy/"), id="a way to no pod"),
    ],
)
def test_what_is_refused_is_refused_alike(pair: tuple[Cluster, Cluster, str], asked: Ask) -> None:
    real, embedded, space = pair
    one, other = ask(real, space, asked), ask(embedded, space, asked)
    assert (other.code, other.content_type) == (one.code, one.content_type), other.body
    assert other.body.get("reason") == one.body.get("reason"), other.body


ODD: tuple[Any, ...] = (None, 1, "x", True, [], {}, [1], {"a": 1}, {"metadata": 1}, {"metadata": {"name": 1}})
SPECS: tuple[Any, ...] = (1, "x", [], {"containers": 1}, {"resourceAttributes": 1}, {"expirationSeconds": "x"})
PLACES = (
    ("POST", MAPS),
    ("PUT", f"{MAPS}/there"),
    ("PUT", MAPS),
    ("DELETE", f"{MAPS}/there"),
    ("POST", "/api/v1/namespaces/{space}/pods"),
    ("POST", "/api/v1/namespaces/{space}/serviceaccounts/default/token"),
    ("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"),
    ("POST", "/apis/rbac.authorization.k8s.io/v1/clusterroles"),
    ("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"),
)


@pytest.mark.parametrize(("method", "path"), PLACES)
def test_no_body_is_too_odd_for_an_answer(embedded_cluster: EmbeddedCluster, method: str, path: str) -> None:
    for body in (*ODD, *({"metadata": {"name": "x"}, "spec": spec} for spec in SPECS)):
        found = ask(embedded_cluster, "default", Ask(method, f"{path}?dryRun=All", json.dumps(body)))
        assert found.code < 500, (body, found.body)


@pytest.mark.parametrize(
    "asked",
    [
        pytest.param(Ask("GET", "/healthz", accept="*/*"), id="health"),
        pytest.param(Ask("GET", f"{MAPS}/there", accept=TABLE), id="one object as a table"),
        pytest.param(Ask("GET", MAPS, accept=TABLE), id="objects as a table"),
        pytest.param(
            Ask("GET", f"{MAPS}/there", accept="application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"),
            id="metadata only",
        ),
        pytest.param(
            Ask("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", REVIEW), id="a question about rights"
        ),
        pytest.param(Ask("GET", "/apis/batch/v1"), id="the kinds of a group"),
    ],
)
def test_what_is_answered_has_the_same_form(pair: tuple[Cluster, Cluster, str], asked: Ask) -> None:
    real, embedded, space = pair
    one, other = ask(real, space, asked), ask(embedded, space, asked)
    assert (other.code, other.content_type) == (one.code, one.content_type)
    assert (other.body.get("kind"), other.body.get("apiVersion")) == (one.body.get("kind"), one.body.get("apiVersion"))
    assert [column["name"] for column in other.body.get("columnDefinitions", ())] == [
        column["name"] for column in one.body.get("columnDefinitions", ())
    ]


@pytest.mark.parametrize("which", [0, 1], ids=["real", "embedded"])
def test_a_watch_with_initial_events_tells_where_they_end(pair: tuple[Cluster, Cluster, str], which: int) -> None:
    cluster, space = pair[:2][which], pair[2]
    query = (
        "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&timeoutSeconds=100"
    )
    selector = "fieldSelector=metadata.name%3Dthere"
    with contextlib.closing(_connection(cluster)) as connection:
        headers = {"Authorization": f"Bearer {cluster.token}"}
        connection.request("GET", f"{MAPS.format(space=space)}?{query}&{selector}", headers=headers)
        answer = connection.getresponse()
        first, second = (json.loads(answer.readline()) for _ in range(2))
    assert (first["type"], first["object"]["metadata"]["name"]) == ("ADDED", "there")
    assert second["type"] == "BOOKMARK"
    assert second["object"]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}


@pytest.mark.parametrize("which", [0, 1], ids=["real", "embedded"])
def test_a_token_of_a_service_account_may_do_what_its_role_says(pair: tuple[Cluster, Cluster, str], which: int) -> None:
    cluster, space = pair[:2][which], pair[2]
    root = f"apis/rbac.authorization.k8s.io/v1/namespaces/{space}"
    cluster.request("POST", f"api/v1/namespaces/{space}/serviceaccounts", {"metadata": {"name": "reader"}})
    rule = {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"]}
    cluster.request("POST", f"{root}/roles", {"metadata": {"name": "reading"}, "rules": [rule]})
    binding = {
        "metadata": {"name": "reading"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "reading"},
        "subjects": [{"kind": "ServiceAccount", "name": "reader", "namespace": space}],
    }
    cluster.request("POST", f"{root}/rolebindings", binding)
    token = cluster.service_account_token(space, "reader")
    look = Ask("GET", f"{MAPS}/there", token=token)  # a real server learns of a binding a moment later
    wait_until("the binding counts", lambda: ask(cluster, space, look).code == 200, limit_seconds=30)
    refused = ask(cluster, space, Ask("DELETE", f"{MAPS}/there", token=token))
    who = f"system:serviceaccount:{space}:reader"
    assert refused.body["message"] == (
        f'configmaps "there" is forbidden: User "{who}" cannot delete resource "configmaps" in API group ""'
        f' in the namespace "{space}"'
    )
