"""Rules for token authentication."""

from collections.abc import Iterator
from typing import Final

from manta_common.api.raycluster import RayClusterSpec
from manta_common.api.rayoptions import AuthOptions
from manta_common.gotext import GoError
from manta_common.validation.problem import Problem, Rule
from manta_common.validation.versions import K8S_TOKEN_AUTH, TOKEN_AUTH, Version, parse_version
from manta_common.validation.view import ClusterView

VERSION_UNSET: Final = Rule(
    "authOptions.mode is 'token' but RayVersion was not specified. Ray version 2.52.0 or later is required",
    "Set rayVersion to the Ray version of the images, 2.52.0 or later.",
)
VERSION_UNREADABLE: Final = Rule(
    "authOptions.mode is 'token' but RayVersion format is invalid: {version}, {fault}",
    "Write rayVersion as numbers, for example 2.52.0.",
)
VERSION_OLD: Final = Rule(
    "authOptions.mode is 'token' but minimum Ray version is 2.52.0, got {version}",
    "Use Ray 2.52.0 or later, or leave authOptions out.",
)
K8S_VERSION_OLD: Final = Rule(
    "authOptions.enableK8sTokenAuth is enabled but minimum Ray version is 2.55.0, got {version}",
    "Use Ray 2.55.0 or later, or leave enableK8sTokenAuth out.",
)
K8S_WITH_SECRET: Final = Rule(
    "authOptions.enableK8sTokenAuth is enabled and authOptions.secretName is also set",
    "Leave secretName out: with enableK8sTokenAuth tokens come from Kubernetes.",
)
K8S_WITHOUT_TOKEN: Final = Rule(
    "authOptions.enableK8sTokenAuth is enabled but authOptions.mode not set to 'token'",
    "Set authOptions.mode to token.",
)


def problems(view: ClusterView) -> Iterator[Problem]:
    """Yield what is wrong with a cluster's authentication."""
    options = view.spec.auth_options
    if options is not None and options.mode == "token":
        yield from _token(view, options)
    elif uses_k8s_tokens(view.spec):
        yield K8S_WITHOUT_TOKEN.at(f"{view.path}.authOptions.mode")


def uses_k8s_tokens(spec: RayClusterSpec) -> bool:
    """Tell whether a cluster is to take Kubernetes' own tokens."""
    return spec.auth_options is not None and spec.auth_options.enable_k8s_token_auth is True


def _token(view: ClusterView, options: AuthOptions) -> Iterator[Problem]:
    text, path = view.spec.ray_version, f"{view.path}.rayVersion"
    if not text:
        yield VERSION_UNSET.at(path)
        return
    try:
        version = parse_version(text)
    except GoError as fault:
        yield VERSION_UNREADABLE.at(path, version=text, fault=fault)
        return
    if version < TOKEN_AUTH:
        yield VERSION_OLD.at(path, version=text)
    if uses_k8s_tokens(view.spec):
        yield from _k8s_tokens(view, options, version)


def _k8s_tokens(view: ClusterView, options: AuthOptions, version: Version) -> Iterator[Problem]:
    if version < K8S_TOKEN_AUTH:
        yield K8S_VERSION_OLD.at(f"{view.path}.rayVersion", version=view.spec.ray_version)
    if options.secret_name:
        yield K8S_WITH_SECRET.at(f"{view.path}.authOptions.secretName")
