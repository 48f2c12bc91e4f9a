"""Credential plug-ins of a kubeconfig (exec), as EKS, GKE, AKS and OpenID sign-ons use them."""

import asyncio
import base64
import os
from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import field

from manta_common.api.wire import Time
from manta_common.errors import Misconfigured

LIMIT_SECONDS = 60.0


class Variable(msgspec.Struct, frozen=True):
    """One variable in the environment of a plug-in."""

    name: str
    value: str


class Plugin(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """How a kubeconfig says that a plug-in is called."""

    command: str
    api_version: str
    args: tuple[str, ...] | None = None
    env: tuple[Variable, ...] | None = None
    provide_cluster_info: bool = False


class Credential(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """What a plug-in answered: a token, a client certificate, or both."""

    token: str = ""
    client_certificate_data: str = ""
    client_key_data: str = ""
    expires_at: Time | None = field(default=None, name="expirationTimestamp")

    def __repr__(self) -> str:
        return "Credential(...)"

    def as_user(self) -> dict[str, str]:
        """The same as it stands in the user section of a kubeconfig."""
        user = {"token": self.token} if self.token else {}
        if self.client_certificate_data:
            user["client-certificate-data"] = base64.b64encode(self.client_certificate_data.encode()).decode()
            user["client-key-data"] = base64.b64encode(self.client_key_data.encode()).decode()
        return user


class ExecCredential(msgspec.Struct, frozen=True):
    """The envelope of the answer."""

    status: Credential


async def ask(plugin: Plugin, cluster: Mapping[str, Any], *, limit_seconds: float = LIMIT_SECONDS) -> Credential:
    """Run a plug-in and return its credential; Misconfigured, with what it said, when it fails or hangs.

    kubernetes_asyncio's own runner has no time limit and leaves a hanging plug-in behind.
    """
    try:
        running = await asyncio.create_subprocess_exec(
            plugin.command,
            *(plugin.args or ()),
            env=_environment(plugin, cluster),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
    except OSError as error:
        raise Misconfigured(f"the exec plug-in {plugin.command} of the kubeconfig cannot be run: {error}") from error
    output, complaint = await _result(running, plugin, limit_seconds)
    if running.returncode:
        said = complaint.decode(errors="replace").strip()
        raise Misconfigured(f"the exec plug-in {plugin.command} ended with code {running.returncode}: {said}")
    return _credential(plugin, output)


async def _result(running: asyncio.subprocess.Process, plugin: Plugin, limit_seconds: float) -> tuple[bytes, bytes]:
    try:
        async with asyncio.timeout(limit_seconds):
            return await running.communicate()
    except TimeoutError as error:
        text = f"the exec plug-in {plugin.command} did not answer within {limit_seconds:g} s; does it ask a question?"
        raise Misconfigured(text) from error
    finally:
        if running.returncode is None:
            running.kill()
            await running.communicate()


def _credential(plugin: Plugin, output: bytes) -> Credential:
    try:
        found = msgspec.json.decode(output, type=ExecCredential).status
    except msgspec.DecodeError as error:
        raise Misconfigured(f"the exec plug-in {plugin.command} answered with something else: {error}") from error
    if not (found.token or (found.client_certificate_data and found.client_key_data)):
        raise Misconfigured(f"the exec plug-in {plugin.command} gave neither a token nor a certificate with its key")
    return found


def _environment(plugin: Plugin, cluster: Mapping[str, Any]) -> dict[str, str]:
    spec: dict[str, Any] = {"interactive": False}
    if plugin.provide_cluster_info:
        spec["cluster"] = dict(cluster)
    request = {"apiVersion": plugin.api_version, "kind": "ExecCredential", "spec": spec}
    given = {variable.name: variable.value for variable in plugin.env or ()}
    return {**os.environ, **given, "KUBERNETES_EXEC_INFO": msgspec.json.encode(request).decode()}
