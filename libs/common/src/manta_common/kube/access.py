"""How to reach an API server and who we are, read from a pod's service account or from a kubeconfig."""

import asyncio
import os
import pathlib
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import msgspec

from manta_common.errors import Misconfigured
from manta_common.kube.plugins import Credential, Plugin, ask
from manta_common.kube.proxies import checked_proxy, proxy_for

if TYPE_CHECKING:
    from kubernetes_asyncio.config.kube_config import ConfigNode, KubeConfigLoader

SERVICE_ACCOUNT = pathlib.Path("/var/run/secrets/kubernetes.io/serviceaccount")
REREAD_SECONDS = 60.0  # token files and sign-on tokens are renewed at any time; client-go looks once a minute too
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
    """The access that Kubernetes gives to a pod. It needs no kubernetes_asyncio, whose import takes 2 s and 70 MB."""

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
    """The access by one context of one or several kubeconfig files, as kubernetes_asyncio reads them."""

    def __init__(self, paths: str, context: str, environment: Mapping[str, str]) -> None:
        self._paths, self._context, self._environment = paths, context, environment
        self._single_sign_on: KubeConfigLoader | None = None

    async def read(self) -> Access:
        """Read the files (again), run the plug-in if there is one; Misconfigured says what is wrong with them."""
        from kubernetes_asyncio.client import Configuration  # noqa: PLC0415  slow: only where a kubeconfig is used
        from kubernetes_asyncio.config import ConfigException  # noqa: PLC0415
        from yaml import YAMLError  # noqa: PLC0415

        configuration = Configuration()
        try:
            loader, lasts_seconds = await self._loader()
            await loader.load_and_set(configuration)
        except (ConfigException, YAMLError, OSError, ValueError, TypeError, LookupError, AssertionError) as error:
            raise Misconfigured(f"the kubeconfig {self._paths} cannot be used: {error}") from error
        return self._access(configuration, lasts_seconds)

    async def _loader(self) -> tuple["KubeConfigLoader", float]:
        """The reader of the files. With single sign-on it is kept: it alone knows the newest refresh token."""
        from kubernetes_asyncio.config.kube_config import KubeConfigLoader  # noqa: PLC0415

        if self._single_sign_on:
            return self._single_sign_on, REREAD_SECONDS
        config = await asyncio.to_thread(self._merged)
        user = _section(config, self._context, "user")
        lasts_seconds = REREAD_SECONDS if "tokenFile" in user else float("inf")
        if "exec" in user:
            plugin = _plugin(user["exec"], pathlib.Path(user.path or "").parent)
            lasts_seconds = _replace_plugin(
                user.value, await ask(plugin, _section(config, self._context, "cluster").value)
            )
        loader = KubeConfigLoader(config, active_context=self._context or None, config_base_path=None)
        if "auth-provider" in user:
            self._single_sign_on, lasts_seconds = loader, REREAD_SECONDS
        return loader, lasts_seconds

    def _merged(self) -> "ConfigNode":
        from kubernetes_asyncio.config.kube_config import KubeConfigMerger  # noqa: PLC0415

        config = KubeConfigMerger(self._paths).config
        if config is None:
            raise Misconfigured(f"there is no kubeconfig at {self._paths}: name one, or run in a pod")
        return config

    def _access(self, configuration: Any, lasts_seconds: float) -> Access:
        if not configuration.host.startswith(("http://", "https://")):
            raise Misconfigured(f"the kubeconfig {self._paths} names no server for this context")
        given = configuration.proxy
        return Access(
            server=configuration.host.rstrip("/"),
            authorization=configuration.api_key.get("BearerToken", ""),
            ca_file=configuration.ssl_ca_cert or "",
            certificate_file=configuration.cert_file or "",
            key_file=configuration.key_file or "",
            verify=configuration.verify_ssl,
            server_name=configuration.tls_server_name or "",
            proxy=checked_proxy(given) if given else proxy_for(configuration.host, self._environment),
            lasts_seconds=lasts_seconds,
        )


def _section(config: "ConfigNode", context: str, kind: str) -> "ConfigNode":
    """The cluster or the user of a context; its `value` may be changed in place."""
    chosen = context or config["current-context"]
    contexts: Any = config["contexts"]
    name = contexts.get_with_name(chosen)["context"].safe_get(kind)
    if not name:
        raise Misconfigured(f"the context {chosen} of the kubeconfig names no {kind}")
    sections: Any = config[f"{kind}s"]
    section: ConfigNode = sections.get_with_name(name)[kind]
    return section


def _plugin(section: "ConfigNode", folder: pathlib.Path) -> Plugin:
    """How the plug-in is called; a relative path counts from the kubeconfig, a bare name is looked for in PATH."""
    try:
        plugin = msgspec.convert(section.value, Plugin)
    except msgspec.ValidationError as error:
        raise Misconfigured(f"the exec plug-in of the kubeconfig is not well-formed: {error}") from error
    if os.sep not in plugin.command:
        return plugin
    return msgspec.structs.replace(plugin, command=str(folder / plugin.command))


def _replace_plugin(user: dict[str, Any], credential: Credential) -> float:
    """Put what the plug-in said where a kubeconfig has it; how many seconds it lasts."""
    del user["exec"]
    user.update(credential.as_user())
    if credential.expires_at is None:
        return float("inf")
    left = (credential.expires_at - datetime.now(UTC)).total_seconds()
    return max(1.0, left - EARLY_SECONDS, left / 2)
