"""What is to be run for a container: its command, environment and mounts, as its pod's first process takes them."""

import os
import pathlib
import re
import shutil
import sys

import msgspec

from manta_common.ray.quantities import amount
from manta_embedded.node import env, volumes
from manta_embedded.node.faults import CannotStart, config_error, no_image
from manta_embedded.node.files import PodFiles
from manta_embedded.node.hosts import DOMAIN
from manta_embedded.node.network import LOOPBACK
from manta_embedded.node.pid1.wire import Message
from manta_embedded.node.settings import OWN_PROGRAMS, NodeSettings
from manta_embedded.node.volumes import Mount, Volume
from manta_embedded.store.objects import Obj, at_path

RAY = re.compile(r"(^|[\s;&|(])ray\s")
OBJECT_STORE_SHARE = 0.3  # of the memory that a container may use, as Ray takes it where the kernel enforces the limit
SERVICE_NAME = re.compile(r"\b[a-z0-9-]+(\.[a-z0-9-]+)+\.svc(\.cluster\.local)?\b")
SHARED = "/dev/shm"
MIB = 1024 * 1024
LEAST_DISK_BYTES = 1024 * MIB
PRIVATE = ("/tmp", "/run")


class Pack(msgspec.Struct, frozen=True, kw_only=True):
    """All that the containers of a pod are made from."""

    pod: Obj
    settings: NodeSettings
    files: PodFiles
    sources: env.Sources
    volumes: dict[str, Volume]


def plan(pack: Pack, container: Obj, attempt: int) -> Message:
    """What the first process of the pod is told; CannotStart says what is missing."""
    isolated = pack.settings.spaces.isolated
    variables = _variables(pack, container)
    argv = _argv(pack, container, variables)
    scratch = pack.files.scratch(container["name"], attempt)
    return {
        "argv": argv,
        "env": variables,
        "cwd": container.get("workingDir") or ("/tmp" if isolated else str(scratch / "tmp")),
        "root": str(pack.files.folder / "root") if isolated else "",
        "mounts": _mounts(pack, container, variables, scratch) if isolated else _no_mounts(pack, container, variables),
        "log": str(pack.files.log(container["name"], attempt)),
    }


def beside(pack: Pack, container: Obj, argv: tuple[str, ...], *, tty: bool = False) -> Message:
    """The same for a further process in a running container."""
    variables = _variables(pack, container)
    isolated = pack.settings.spaces.isolated
    cwd = container.get("workingDir") or ("/tmp" if isolated else "/")
    if tty:
        variables.setdefault("TERM", "xterm")
    root = "as its container's" if isolated else ""
    return {"argv": list(argv), "env": variables, "cwd": cwd, "root": root, "tty": tty}


def start_error(container: Obj, why: str) -> str:
    """What a container runtime says of a process that it cannot start, and what to do about it here."""
    image = container.get("image", "")
    hint = f' (standalone runs commands of this machine, not those in the image "{image}": install the program here)'
    found = hint if "not found in $PATH" in why else ""
    return f"failed to create containerd task: failed to create shim task: {why}: unknown{found}"


def disk_warning(pack: Pack, container: Obj) -> str:
    """What to tell of a disk on which Ray will not get far; empty when there is room."""
    free = shutil.disk_usage(pack.files.folder).free
    if free >= LEAST_DISK_BYTES or not _uses_ray(container):
        return ""
    return (
        f"only {free // MIB} MiB are free at {pack.settings.folder}, where Ray's /tmp is: it needs"
        f" {LEAST_DISK_BYTES // MIB} MiB for logs and spilled objects; make room, or choose another data folder"
    )


def creation_note(pod: Obj, container: Obj) -> str:
    """What is told of a container that was made, with what of it could not be had."""
    places = (at_path(pod, "spec.securityContext") or {}, container.get("securityContext") or {})
    ignored = sorted({field for place in places for field in place})
    if not ignored:
        return "Container created"
    fields = ", ".join(ignored)
    return f"Container created as the user who runs Manta: its securityContext ({fields}) is not heeded in standalone"


def _uses_ray(container: Obj) -> bool:
    return bool(RAY.search(" ".join([*(container.get("command") or ()), *(container.get("args") or ())])))


def _variables(pack: Pack, container: Obj) -> dict[str, str]:
    found = env.environment(pack.pod, container, _given(pack, container), pack.sources)
    return {name: _near(pack, value) for name, value in found.items()}


def _near(pack: Pack, text: str) -> str:
    """Where pods share the machine's network they cannot resolve services' names, but all of them are here."""
    return text if pack.settings.spaces.isolated else SERVICE_NAME.sub(LOOPBACK, text)


def _given(pack: Pack, container: Obj) -> dict[str, str]:
    """What a container has before its own variables."""
    settings, api = pack.settings, pack.settings.api
    host = at_path(pack.pod, "spec.hostname") or pack.pod["metadata"]["name"]
    given = {
        "PATH": settings.search_path,
        "HOME": os.environ.get("HOME", "/"),
        "HOSTNAME": host,
        "LANG": "C.UTF-8",
        "MANTA_CONTAINER": f"{pack.pod['metadata']['uid']}/{container['name']}",
    }
    if api.host:
        port = str(api.port)
        given |= {
            "KUBERNETES_SERVICE_HOST": api.host,
            "KUBERNETES_SERVICE_PORT": port,
            "KUBERNETES_SERVICE_PORT_HTTPS": port,
            "KUBERNETES_PORT": f"tcp://{api.host}:{port}",
        }
    given |= _proxy(settings)
    limit = at_path(container, "resources.limits.memory")
    if limit:
        given["RAY_DEFAULT_OBJECT_STORE_MAX_MEMORY_BYTES"] = str(int(amount(limit).value * OBJECT_STORE_SHARE))
    return given


def _proxy(settings: NodeSettings) -> dict[str, str]:
    """HTTPS only: what pods say to each other in plain HTTP never takes this way, whatever library says it."""
    if not settings.proxy:
        return {}
    near = ",".join(("localhost", "127.0.0.1", settings.api.host, settings.subnet, ".svc", f".{DOMAIN}"))
    return dict.fromkeys(("HTTPS_PROXY", "https_proxy"), settings.proxy) | {"NO_PROXY": near, "no_proxy": near}


def _argv(pack: Pack, container: Obj, variables: dict[str, str]) -> list[str]:
    given = [*(container.get("command") or ()), *(container.get("args") or ())]
    if not container.get("command"):
        raise no_image(
            f'container "{container["name"]}" has no command of its own, and standalone runs no images:'
            f' what "{container.get("image", "")}" would run is not known here; give the container a command'
        )
    if _uses_ray(container) and not pack.settings.has_ray:
        raise no_image(
            'there is no Ray on this machine: run `pip install "ray[default,serve]"` where manta is installed'
        )
    return [_near(pack, env.expanded(part, variables)) for part in given]


def _mounts(pack: Pack, container: Obj, variables: dict[str, str], scratch: pathlib.Path) -> list[Message]:
    own = [_bound(path, str(scratch / path.strip("/"))) for path in PRIVATE]
    own += [_bound(f"/etc/{name}", str(pack.files.folder / name)) for name in ("hosts", "resolv.conf")]
    own += [_bound(path, path, readonly=True) for path in _kept_visible(pack)]
    own.append(_bound(OWN_PROGRAMS, str(pack.settings.own_programs), readonly=True))
    own.append(_bound(SHARED, str(pack.files.shared_memory)))
    words = container.get("terminationMessagePath") or "/dev/termination-log"
    own.append(_bound(words, str(scratch / "termination-log")))
    users = [_mount(pack, one) for one in volumes.mounts(pack.pod, container, variables)]
    taken = {one["target"] for one in users}
    return [*(one for one in own if one["target"] not in taken), *users]


def _mount(pack: Pack, mount: Mount) -> Message:
    volume = _volume_of(pack, mount)
    return _bound(mount.path, pack.files.source(volume, mount), readonly=mount.readonly or volume.readonly)


def _volume_of(pack: Pack, mount: Mount) -> Volume:
    try:
        return pack.volumes[mount.volume]
    except KeyError:
        raise config_error(f'volumeMounts: there is no volume "{mount.volume}"') from None


def _no_mounts(pack: Pack, container: Obj, variables: dict[str, str]) -> list[Message]:
    """Without a mount namespace only what is there anyway can be had."""
    for mount in volumes.mounts(pack.pod, container, variables):
        volume = _volume_of(pack, mount)
        same = volume.host and os.path.realpath(volume.host) == os.path.realpath(mount.path)
        if mount.path == SHARED or volume.name == volumes.ACCOUNT_VOLUME or same:
            continue
        raise CannotStart(
            "CreateContainerConfigError",
            f'volume "{mount.volume}" cannot be mounted at {mount.path}: this machine gives processes no mounts of'
            " their own. Run manta on Linux as root, or allow unprivileged user namespaces"
            " (sysctl user.max_user_namespaces, kernel.apparmor_restrict_unprivileged_userns=0)",
        )
    return []


def _kept_visible(pack: Pack) -> list[str]:
    """Programs that lie where every container has a folder of its own."""
    places = {os.path.realpath(sys.prefix), os.path.realpath(sys.base_prefix), sys.prefix, pack.settings.program_folder}
    return sorted(place for place in places if place.startswith(tuple(f"{path}/" for path in PRIVATE)))


def _bound(target: str, source: str, *, readonly: bool = False) -> Message:
    return {"target": target, "source": source, "readonly": readonly}
