"""The RayJob that runs a command, and the files that go along with it."""

import argparse
import pathlib
import re
import secrets
import shlex
from typing import Any, Final

import yaml

from manta_cli.failures import Failed
from manta_common.kinds import CONFIGMAP, RAYJOB

RAY_VERSION: Final = "2.60.0"
FOLDER: Final = "/home/ray/files"
MOST_BYTES: Final = 900_000  # a ConfigMap holds a little more than that
LOG_SECONDS: Final = 20  # the log is the cluster's: time to read the end of it
_NAME: Final = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")


def job_name(options: argparse.Namespace) -> str:
    """The name that was given, or one made from the command."""
    if options.name:
        if not _NAME.fullmatch(options.name) or len(options.name) > 47:
            raise Failed(f"--name {options.name!r} must be lower-case letters, digits and hyphens, at most 47", 2)
        return str(options.name)
    words = [pathlib.PurePath(word).stem for word in options.entrypoint if not word.startswith("-")]
    word = re.sub(r"[^a-z0-9]+", "-", (words[-1] if words else "job").lower()).strip("-")[:30].strip("-")
    stem = word if word[:1].isalpha() else f"job-{word}".strip("-")
    return f"{stem}-{secrets.token_hex(3)}"


def gathered(options: argparse.Namespace) -> dict[str, str]:
    """The files to send along, by their names: those that were asked for, and those that the command names."""
    found: dict[str, str] = {}
    named = [word for word in options.entrypoint[1:] if pathlib.Path(word).is_file()]
    for file in dict.fromkeys([*options.file, *named]):
        path = pathlib.Path(file)
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise Failed(f"{file} cannot be sent along: {error}; put it into the image or a volume") from error
        if found.get(path.name, text) != text:
            raise Failed(f"two files are called {path.name}: rename one of them")
        found[path.name] = text
    if sum(len(text.encode()) for text in found.values()) > MOST_BYTES:
        raise Failed(f"the files are larger than {MOST_BYTES} bytes together; put them into the image or a volume")
    if found and options.cluster:
        raise Failed("files cannot be sent along to an existing cluster; use --runtime-env with a working_dir")
    return found


def rayjob(options: argparse.Namespace, name: str, files: dict[str, str]) -> dict[str, Any]:
    """The RayJob. Manta itself submits it: a pod that does would first start Ray's client three times."""
    words = [_sent(word, files) for word in options.entrypoint]
    entrypoint = shlex.join(words) if len(words) > 1 else words[0]
    spec: dict[str, Any] = {"entrypoint": entrypoint, "submissionMode": "HTTPMode"}
    if options.runtime_env:
        spec["runtimeEnvYAML"] = _runtime_env(options.runtime_env)
    if options.cluster:
        spec["clusterSelector"] = {"ray.io/cluster": options.cluster}
    else:
        if not options.keep:
            spec |= {"shutdownAfterJobFinishes": True, "ttlSecondsAfterFinished": LOG_SECONDS}
        spec["rayClusterSpec"] = _cluster(options, name, files)
    return {"apiVersion": RAYJOB.api_version, "kind": RAYJOB.kind, "metadata": {"name": name}, "spec": spec}


def _sent(word: str, files: dict[str, str]) -> str:
    """A word of the command; a file that is sent along is where the pods have it."""
    path = pathlib.Path(word)
    return f"{FOLDER}/{path.name}" if path.name in files and path.is_file() else word


def _runtime_env(file: str) -> str:
    try:
        text = pathlib.Path(file).read_text(encoding="utf-8")
        if not isinstance(yaml.safe_load(text), dict):
            raise Failed(f"--runtime-env {file} must be a mapping, such as `pip: [requests]`", 2)
    except (OSError, yaml.YAMLError) as error:
        raise Failed(f"--runtime-env {file} cannot be read: {error}", 2) from error
    return text


def _cluster(options: argparse.Namespace, name: str, files: dict[str, str]) -> dict[str, Any]:
    head = {"rayStartParams": {}, "template": _template(options, name, "ray-head", files)}
    spec: dict[str, Any] = {"rayVersion": options.ray_version, "headGroupSpec": head}
    if options.workers:
        count = options.workers
        group = {"groupName": "workers", "replicas": count, "minReplicas": count, "maxReplicas": count}
        spec["workerGroupSpecs"] = [
            {**group, "rayStartParams": {}, "template": _template(options, name, "ray-worker", files)}
        ]
    return spec


def _template(options: argparse.Namespace, name: str, container: str, files: dict[str, str]) -> dict[str, Any]:
    amounts = {"cpu": options.cpu, "memory": options.memory}
    image = options.image or f"rayproject/ray:{options.ray_version}"
    one: dict[str, Any] = {"name": container, "image": image, "resources": {"requests": amounts, "limits": amounts}}
    spec: dict[str, Any] = {"containers": [one]}
    if files:
        one["volumeMounts"] = [{"name": "files", "mountPath": FOLDER}]
        spec["volumes"] = [{"name": "files", "configMap": {"name": f"{name}-files"}}]
    return {"spec": spec}


def config_maps(name: str, files: dict[str, str]) -> list[dict[str, Any]]:
    """What holds the files, if there are any."""
    if not files:
        return []
    return [
        {
            "apiVersion": CONFIGMAP.api_version,
            "kind": CONFIGMAP.kind,
            "metadata": {"name": f"{name}-files"},
            "data": files,
        }
    ]
