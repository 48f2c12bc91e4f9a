"""What a KubeRay operator was told: its flags, as Go reads them, and its configuration file. Pure."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

SWITCHES: Final = frozenset(
    {
        "enable-leader-election",
        "forced-cluster-upgrade",
        "enable-batch-scheduler",
        "use-kubernetes-proxy",
        "enable-metrics",
        "zap-devel",
    }
)
# Fields of the file that have a flag; when there is a file, the flag does not count.
FIELDS: Final = {
    "watchNamespace": "watch-namespace",
    "logFile": "log-file-path",
    "batchScheduler": "batch-scheduler",
    "enableBatchScheduler": "enable-batch-scheduler",
    "useKubernetesProxy": "use-kubernetes-proxy",
    "enableMetrics": "enable-metrics",
    "qps": "qps",
    "burst": "burst",
}


class Told(msgspec.Struct, frozen=True):
    """The flags that count, and words that are none."""

    flags: Mapping[str, str]
    strange: tuple[str, ...] = ()

    def text(self, name: str) -> str:
        """The value of a flag; nothing when it is not set."""
        return self.flags.get(name, "")

    def switched(self, name: str) -> bool:
        """Whether a switch is on."""
        return self.text(name).lower() in {"true", "t", "1"}


def told(words: Sequence[str], file: Mapping[str, Any]) -> Told:
    """What an operator with these words on its command line and this configuration file goes by."""
    read = _read(words)
    if not read.text("config"):
        return read
    kept = {name: value for name, value in read.flags.items() if name not in FIELDS.values()}
    named = {flag: _text(file[field]) for field, flag in FIELDS.items() if file.get(field) is not None}
    return Told(kept | named, read.strange)


def _read(words: Sequence[str]) -> Told:
    flags: dict[str, str] = {}
    strange: list[str] = []
    left = list(words)
    while left:
        word = left.pop(0)
        name, equals, value = word.lstrip("-").partition("=")
        if not word.startswith("-"):
            strange.append(word)
        elif equals:
            flags[name] = value
        elif name in SWITCHES:
            flags[name] = "true"
        else:
            flags[name] = left.pop(0) if left else ""
    return Told(flags, tuple(strange))


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
