"""How to reach an API server and who we are, read from a pod's service account or from a kubeconfig."""

import asyncio
import os
import pathlib
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import msgspec

from manta_common.errors import Misconfigured
from manta_common.kube.kubeconfig import Section, sections
from manta_common.kube.plugins import Credential, Plugin, ask
from manta_common.kube.proxies import checked_proxy, proxy_for

if TYPE_CHECKING:
    from manta_common.kube.sign_on import SignOn

SERVICE_ACCOUNT = pathlib.Path("/var/run/secrets/kubernetes.io/serviceaccount")
REREAD_SECONDS = 60.0  # token files and sign-on tokens are renewed at any time; client-go looks once a minute too
SIGN_ONS = ("gcp", "oidc")  # of a user's auth-provider
EARLY_SECONDS = 60.0  # a token is renewed that much before it expires, or after half its life


class Access(msgspec.Struct, frozen=True, kw_only=True):
    """What a connection needs to know, as read at one moment."""

    server: str
    authorization: str = ""
    ca_file: str = ""
    certificate_file: str = ""
    key_file: str = ""
    verify: bool = True
    server_name: str = ""
    proxy: str = ""
    lasts_seconds: float = float("inf")  # read again after that, and whenever the server refuses it

    def __repr__(self) -> str:
        return f"Access({self.server})"


Source = Callable[[], Awaitable[Access]]


def source(kubeconfig: str = "", context: str = "", environment: Mapping[str, str] = os.environ) -> Source:
    """Where to read the access from, as KubeRay looks: a given file, KUBECONFIG, the pod's account, the home's file."""
    paths = kubeconfig or environment.get("KUBECONFIG", "")
    if not paths and environment.get("KUBERNETES_SERVICE_HOST"):
        return service_account(environment)
    return Kubeconfig(paths or str(pathlib.Path("~/.kube/config").expanduser()), context, environment).read


def service_account(environment: Mapping[str, str], folder: pathlib.Path = SERVICE_ACCOUNT) -> Source:
    """The access that Kubernetes gives to a pod."""

    def read() -> Access:
        host, port = environment.get("KUBERNETES_SERVICE_HOST", ""), environment.get("KUBERNETES_SERVICE_PORT", "443")
        server = f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}"
        try:
            token = (folder / "token").read_text().strip()
        except OSError as error:
            raise Misconfigured(f"the pod's service account cannot be read: {error}") from error
        return Access(
            server=server,
            authorization=f"Bearer {token}",
            ca_file=str(folder / "ca.crt"),
            proxy=proxy_for(server, environment),
            lasts_seconds=REREAD_SECONDS,
        )

    return lambda: asyncio.to_thread(read)


class Kubeconfig:
    """The access by one context of one or several kubeconfig files."""

    def __init__(self, paths: str, context: str, environment: Mapping[str, str]) -> None:
        self._paths, self._context, self._environment = paths, context, environment
        self._sign_on: SignOn | None = None

    async def read(self) -> Access:
        """Read the files (again), run the plug-in if there is one; Misconfigured says what is wrong with them."""
        try:
            cluster, user = await asyncio.to_thread(sections, self._paths, self._context)
            if _signs_on(user):
                return self._access(cluster, user, await self._signed_on(), REREAD_SECONDS)
            user, lasts_seconds = await _with_credential(cluster, user)
            return self._access(cluster, user, user.authorization(), lasts_seconds)
        except (OSError, ValueError, TypeError, LookupError) as error:
            raise Misconfigured(f"the kubeconfig {self._paths} cannot be used: {error}") from error

    async def _signed_on(self) -> str:
        if self._sign_on is None:
            from manta_common.kube.sign_on import SignOn  # noqa: PLC0415  35 MiB that few need

            self._sign_on = SignOn(self._paths, self._context)
        return await self._sign_on.authorization()

    def _access(self, cluster: Section, user: Section, authorization: str, lasts_seconds: float) -> Access:
        server = cluster.text("server").rstrip("/")
        if not server.startswith(("http://", "https://")):
            raise Misconfigured(f"the kubeconfig {self._paths} names no server for this context")
        by_tls, given = server.startswith("https://"), cluster.text("proxy-url")
        return Access(
            server=server,
            authorization=authorization,
            ca_file=cluster.file("certificate-authority") if by_tls else "",
            certificate_file=user.file("client-certificate") if by_tls else "",
            key_file=user.file("client-key") if by_tls else "",
            verify=not cluster.content.get("insecure-skip-tls-verify"),
            server_name=cluster.text("tls-server-name"),
            proxy=checked_proxy(given) if given else proxy_for(server, self._environment),
            lasts_seconds=lasts_seconds,
        )


def _signs_on(user: Section) -> bool:
    provider = user.content.get("auth-provider")
    return isinstance(provider, Mapping) and provider.get("name") in SIGN_ONS


async def _with_credential(cluster: Section, user: Section) -> tuple[Section, float]:
    """The user with what its plug-in gave, if it has one, and how many seconds that lasts."""
    if "exec" not in user:
        return user, REREAD_SECONDS if "tokenFile" in user else float("inf")
    credential = await ask(_plugin(user.content["exec"], user.folder), cluster.content)
    content = {name: value for name, value in user.content.items() if name != "exec"}
    return Section({**content, **credential.as_user()}, user.folder), _lasting(credential)


def _plugin(section: object, folder: pathlib.Path) -> Plugin:
    """How the plug-in is called; a relative path counts from the kubeconfig, a bare name is looked for in PATH."""
    try:
        plugin = msgspec.convert(section, Plugin)
    except msgspec.ValidationError as error:
        raise Misconfigured(f"the exec plug-in of the kubeconfig is not well-formed: {error}") from error
    if os.sep not in plugin.command:
        return plugin
    return msgspec.structs.replace(plugin, command=str(folder / plugin.command))


def _lasting(credential: Credential) -> float:
    """For how many seconds to use what a plug-in gave."""
    if credential.expires_at is None:
        return float("inf")
    left = (credential.expires_at - datetime.now(UTC)).total_seconds()
    return max(1.0, left - EARLY_SECONDS, left / 2)
