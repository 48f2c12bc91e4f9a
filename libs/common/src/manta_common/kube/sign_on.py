"""Single sign-on by a kubeconfig (auth-provider): Google's and OpenID's, left to kubernetes_asyncio."""

from typing import Any

from kubernetes_asyncio.client import Configuration
from kubernetes_asyncio.config import ConfigException
from kubernetes_asyncio.config.kube_config import KubeConfigLoader, KubeConfigMerger


class SignOn:
    """One user's. It is kept while the user is used: it alone knows the newest refresh token."""

    def __init__(self, paths: str, context: str) -> None:
        merged: Any = KubeConfigMerger(paths).config
        self._loader = KubeConfigLoader(merged, active_context=context or None, config_base_path=None)

    async def authorization(self) -> str:
        """What to say to the server in each request; a token that has expired is renewed. ValueError says why not."""
        configuration = Configuration()
        try:
            await self._loader.load_and_set(configuration)
        except (ConfigException, AssertionError) as error:
            raise ValueError(str(error)) from error
        return str(configuration.api_key.get("BearerToken", ""))
