"""Who we are and where the server is, from every form of kubeconfig and from a pod's service account."""

import base64
import json
import os
import pathlib
import sys
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import trustme

from manta_common.errors import Misconfigured
from manta_common.kube.access import Access, Kubeconfig, service_account, source

SERVER = "https://10.1.2.3:6443"


@pytest.fixture(scope="session")
def identities(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """A folder with a CA (ca.pem) and a client's certificate and key (client.pem, client.key)."""
    folder = tmp_path_factory.mktemp("identities")
    authority = trustme.CA()
    client = authority.issue_cert("client")
    authority.cert_pem.write_to_path(folder / "ca.pem")
    client.cert_chain_pems[0].write_to_path(folder / "client.pem")
    client.private_key_pem.write_to_path(folder / "client.key")
    return folder


@pytest.fixture
def folder(tmp_path: pathlib.Path, identities: pathlib.Path) -> pathlib.Path:
    """A folder for a kubeconfig, with the identities beside it."""
    for file in identities.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    return tmp_path


def write(
    folder: pathlib.Path, *, cluster: dict[str, Any] | None = None, user: Any = None, name: str = "config"
) -> str:
    document = {
        "clusters": [{"name": "c", "cluster": {"server": SERVER, **(cluster or {})}}],
        "users": [{"name": "u", "user": user if user is not None else {}}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "x",
    }
    path = folder / name
    path.write_text(json.dumps(document))
    return str(path)


async def read(paths: str, context: str = "", environment: dict[str, str] | None = None) -> Access:
    return await Kubeconfig(paths, context, environment or {}).read()


def text(path: str | pathlib.Path) -> str:
    return pathlib.Path(path).read_text()


def is_private(path: str) -> bool:
    return pathlib.Path(path).stat().st_mode & 0o077 == 0


def encoded(path: pathlib.Path) -> str:
    return base64.b64encode(path.read_bytes()).decode()


async def test_a_token(folder: pathlib.Path) -> None:
    access = await read(write(folder, user={"token": "secret"}, cluster={"certificate-authority": "ca.pem"}))
    assert access == Access(server=SERVER, authorization="Bearer secret", ca_file=str(folder / "ca.pem"))
    assert "secret" not in repr(access)


async def test_a_token_file_is_read_again_every_minute(folder: pathlib.Path) -> None:
    (folder / "token").write_text("first")
    kubeconfig = Kubeconfig(write(folder, user={"tokenFile": "token"}), "", {})
    access = await kubeconfig.read()
    assert (access.authorization, access.lasts_seconds) == ("Bearer first", 60)
    (folder / "token").write_text("second")
    assert (await kubeconfig.read()).authorization == "Bearer second"


async def test_user_and_password(folder: pathlib.Path) -> None:
    access = await read(write(folder, user={"username": "a", "password": "b"}))
    assert access.authorization == "Basic " + base64.b64encode(b"a:b").decode()


async def test_a_client_certificate_by_files_beside_the_kubeconfig(folder: pathlib.Path) -> None:
    access = await read(write(folder, user={"client-certificate": "client.pem", "client-key": "client.key"}))
    assert (access.certificate_file, access.key_file) == (str(folder / "client.pem"), str(folder / "client.key"))


async def test_certificates_by_content(folder: pathlib.Path) -> None:
    user = {
        "client-certificate-data": encoded(folder / "client.pem"),
        "client-key-data": encoded(folder / "client.key"),
    }
    cluster = {"certificate-authority-data": encoded(folder / "ca.pem")}
    access = await read(write(folder, user=user, cluster=cluster))
    pairs = {"ca.pem": access.ca_file, "client.pem": access.certificate_file, "client.key": access.key_file}
    for name, file in pairs.items():
        assert text(file) == text(folder / name)
    assert is_private(access.key_file)


async def test_the_rest_of_a_cluster(folder: pathlib.Path) -> None:
    cluster = {
        "server": "https://rancher.example/k8s/clusters/c-1/",
        "insecure-skip-tls-verify": True,
        "tls-server-name": "kubernetes",
        "proxy-url": "http://proxy.example:3128",
    }
    access = await read(write(folder, cluster=cluster, user={"token": "t"}))
    assert (access.server, access.verify) == ("https://rancher.example/k8s/clusters/c-1", False)
    assert (access.server_name, access.proxy) == ("kubernetes", "http://proxy.example:3128")


async def test_a_proxy_of_the_environment(folder: pathlib.Path) -> None:
    path = write(folder, user={"token": "t"})
    environment = {"HTTPS_PROXY": "http://proxy.example:3128"}
    assert (await read(path, "", environment)).proxy == "http://proxy.example:3128"
    assert (await read(path, "", {**environment, "NO_PROXY": "10.0.0.0/8"})).proxy == ""


async def test_of_two_current_contexts_the_first_files_counts(folder: pathlib.Path) -> None:
    first = write(folder, user={"token": "one"}, name="first")
    second = json.loads(text(first)) | {"current-context": "y"}
    (folder / "second").write_text(json.dumps(second))
    assert (await read(f"{first}{os.pathsep}{folder / 'second'}")).authorization == "Bearer one"


async def test_several_files_and_a_context(folder: pathlib.Path) -> None:
    first = write(folder, user={"token": "one"}, name="first")
    document = json.loads(text(first).replace('"x"', '"y"').replace('"u"', '"v"'))
    document["users"][0]["user"]["token"] = "two"
    (folder / "second").write_text(json.dumps(document))
    paths = f"{first}{os.pathsep}{folder / 'second'}"
    assert (await read(paths, "x")).authorization == "Bearer one"
    assert (await read(paths, "y")).authorization == "Bearer two"


def plugin(folder: pathlib.Path, status: dict[str, Any], *, code: int = 0) -> dict[str, Any]:
    """A small credential plug-in that counts its runs in a file; {runs} in what it says is that number."""
    script = folder / "plugin.py"
    script.write_text(
        f"""#!{sys.executable}
import json, os, pathlib, sys
asked = json.loads(os.environ["KUBERNETES_EXEC_INFO"])
assert asked["kind"] == "ExecCredential" and asked["spec"]["interactive"] is False, asked
assert sys.argv[1:] == ["get", "token"] and os.environ["FLAVOUR"] == "mild"
counter = pathlib.Path({str(folder / "runs")!r})
runs = int(counter.read_text()) + 1 if counter.exists() else 1
counter.write_text(str(runs))
print("please log in first", file=sys.stderr)
answer = {{"kind": "ExecCredential", "apiVersion": asked["apiVersion"], "status": {status!r}}}
print(json.dumps(answer).replace("{{runs}}", str(runs)))
sys.exit({code})
"""
    )
    script.chmod(0o755)
    version = "client.authentication.k8s.io/v1"
    env = [{"name": "FLAVOUR", "value": "mild"}]
    return {"exec": {"apiVersion": version, "command": "./plugin.py", "args": ["get", "token"], "env": env}}


async def test_a_plugin_that_gives_tokens_is_asked_again_before_they_expire(folder: pathlib.Path) -> None:
    expires_at = (datetime.now(UTC) + timedelta(seconds=900)).strftime("%Y-%m-%dT%H:%M:%SZ")
    user = plugin(folder, {"token": "t{runs}", "expirationTimestamp": expires_at})
    kubeconfig = Kubeconfig(write(folder, user=user), "", {})
    access = await kubeconfig.read()
    assert access.authorization == "Bearer t1"
    assert access.lasts_seconds == pytest.approx(840, abs=5)
    assert (await kubeconfig.read()).authorization == "Bearer t2"


@pytest.mark.parametrize(
    ("left_seconds", "lasts_seconds"),
    [pytest.param(60, 30, id="short-lived"), pytest.param(-100, 1, id="expired already: not asked for every call")],
)
async def test_how_long_a_token_lasts(folder: pathlib.Path, left_seconds: int, lasts_seconds: int) -> None:
    expires_at = (datetime.now(UTC) + timedelta(seconds=left_seconds)).isoformat()
    user = plugin(folder, {"token": "t", "expirationTimestamp": expires_at})
    assert (await read(write(folder, user=user))).lasts_seconds == pytest.approx(lasts_seconds, abs=2)


async def test_a_plugin_that_gives_a_certificate(folder: pathlib.Path) -> None:
    certificate, key = text(folder / "client.pem"), text(folder / "client.key")
    user = plugin(folder, {"clientCertificateData": certificate, "clientKeyData": key})
    access = await read(write(folder, user=user))
    assert text(access.certificate_file) == certificate
    assert text(access.key_file) == key
    assert access.lasts_seconds == float("inf")


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        pytest.param({"exec": {"command": "no-such-program", "apiVersion": "v1"}}, "no-such-program", id="no program"),
        pytest.param({"exec": {"args": []}}, "not well-formed", id="no command"),
        pytest.param({"exec": {"command": "true", "apiVersion": "v1"}}, "something else", id="says nothing"),
        pytest.param({"exec": {"command": "false", "apiVersion": "v1"}}, "ended with code 1", id="fails"),
        pytest.param({"tokenFile": "absent"}, "absent", id="no token file"),
        pytest.param({"client-certificate": "absent"}, "absent", id="no certificate"),
    ],
)
async def test_a_user_that_cannot_be_used_is_named(folder: pathlib.Path, change: Any, complaint: str) -> None:
    with pytest.raises(Misconfigured, match=complaint):
        await read(write(folder, user=change))


async def test_a_plugin_that_fails_is_quoted(folder: pathlib.Path) -> None:
    with pytest.raises(Misconfigured, match="code 3: please log in first"):
        await read(write(folder, user=plugin(folder, {}, code=3)))


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        pytest.param(": not [yaml", "cannot be used", id="no YAML"),
        pytest.param("{}", "cannot be used", id="empty"),
        pytest.param('{"current-context": "x", "contexts": []}', "cannot be used", id="no such context"),
    ],
)
async def test_a_broken_file_is_named(folder: pathlib.Path, content: str, complaint: str) -> None:
    (folder / "config").write_text(content)
    with pytest.raises(Misconfigured, match=complaint):
        await read(str(folder / "config"))


@pytest.mark.parametrize(
    ("context", "complaint"),
    [
        pytest.param({}, "names no cluster", id="no cluster"),
        pytest.param({"cluster": "c"}, "names no user", id="no user"),
        pytest.param({"cluster": "d", "user": "u"}, "there is no cluster d", id="a cluster that is not there"),
        pytest.param({"cluster": "c", "user": "v"}, "there is no user v", id="a user that is not there"),
        pytest.param({"cluster": "empty", "user": "u"}, "names no server", id="a cluster without a server"),
    ],
)
async def test_a_context_that_cannot_be_used_is_named(folder: pathlib.Path, context: Any, complaint: str) -> None:
    document = json.loads(text(write(folder)))
    document["contexts"][0]["context"] = context
    document["clusters"].append({"name": "empty", "cluster": {}})
    (folder / "config").write_text(json.dumps(document))
    with pytest.raises(Misconfigured, match=complaint):
        await read(str(folder / "config"))


async def test_a_sign_on_whose_token_is_still_good(folder: pathlib.Path) -> None:
    claims = {"exp": int((datetime.now(UTC) + timedelta(hours=1)).timestamp())}
    token = f"e30.{base64.b64encode(json.dumps(claims).encode()).decode().rstrip('=')}.sig"
    provider = {"auth-provider": {"name": "oidc", "config": {"id-token": token}}}
    kubeconfig = Kubeconfig(write(folder, user=provider, cluster={"certificate-authority": "ca.pem"}), "", {})
    expected = Access(server=SERVER, authorization=f"Bearer {token}", ca_file=str(folder / "ca.pem"), lasts_seconds=60)
    assert [await kubeconfig.read(), await kubeconfig.read()] == [expected, expected]


async def test_a_sign_on_that_cannot_be_renewed_is_told(folder: pathlib.Path) -> None:
    provider = {"auth-provider": {"name": "oidc", "config": {"id-token": "e30.e30"}}}
    with pytest.raises(Misconfigured, match="cannot be used: oidc"):
        await read(write(folder, user=provider))


async def test_a_provider_that_nobody_knows_leaves_the_token(folder: pathlib.Path) -> None:
    user = {"auth-provider": {"name": "azure"}, "token": "t"}
    assert (await read(write(folder, user=user))).authorization == "Bearer t"


async def test_files_are_beside_the_kubeconfig_that_names_them(folder: pathlib.Path) -> None:
    (folder / "other").mkdir()
    (folder / "other" / "token").write_text("beside\n")
    document = json.loads(text(write(folder, name="first")))
    user = write(folder / "other", user={"tokenFile": "token"})
    (folder / "first").write_text(json.dumps({**document, "users": None}))
    assert (await read(f"{folder / 'first'}{os.pathsep}{user}")).authorization == "Bearer beside"


async def test_a_missing_file_is_named(folder: pathlib.Path) -> None:
    with pytest.raises(Misconfigured, match=r"there is no kubeconfig at .*/absent"):
        await read(str(folder / "absent"))


async def test_a_service_account(folder: pathlib.Path) -> None:
    (folder / "token").write_text("first\n")
    environment = {"KUBERNETES_SERVICE_HOST": "10.96.0.1", "KUBERNETES_SERVICE_PORT": "443"}
    where = service_account(environment, folder)
    assert await where() == Access(
        server="https://10.96.0.1:443",
        authorization="Bearer first",
        ca_file=str(folder / "ca.crt"),
        lasts_seconds=60,
    )
    (folder / "token").write_text("second")
    assert (await where()).authorization == "Bearer second"


async def test_a_service_account_over_ipv6_and_a_proxy(folder: pathlib.Path) -> None:
    (folder / "token").write_text("t")
    environment = {"KUBERNETES_SERVICE_HOST": "fd00::1", "KUBERNETES_SERVICE_PORT": "443"}
    access = await service_account({**environment, "HTTPS_PROXY": "proxy.example:1"}, folder)()
    assert (access.server, access.proxy) == ("https://[fd00::1]:443", "http://proxy.example:1")


async def test_a_pod_without_a_token_says_so(tmp_path: pathlib.Path) -> None:
    with pytest.raises(Misconfigured, match="service account"):
        await service_account({"KUBERNETES_SERVICE_HOST": "10.96.0.1"}, tmp_path)()


async def test_the_order_in_which_we_look(folder: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given, named = write(folder, user={"token": "a"}, name="a"), write(folder, user={"token": "b"}, name="b")
    in_pod = {"KUBERNETES_SERVICE_HOST": "10.96.0.1"}
    assert (await source(given, "", {"KUBECONFIG": named, **in_pod})()).authorization == "Bearer a"
    assert (await source("", "", {"KUBECONFIG": named, **in_pod})()).authorization == "Bearer b"
    with pytest.raises(Misconfigured, match="service account"):
        await source("", "", in_pod)()
    (folder / ".kube").mkdir()
    write(folder / ".kube", user={"token": "home"})
    monkeypatch.setenv("HOME", str(folder))
    assert (await source("", "", {})()).authorization == "Bearer home"
