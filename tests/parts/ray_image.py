"""An image with the Ray of this environment, for pods on a real node."""

import importlib.metadata
import pathlib
import sys

from packaging.requirements import Requirement

from tests.parts.node_images import Image
from tests.parts.process import Unavailable
from tests.tools import images, product

NAME = f"manta.test/ray:{importlib.metadata.version('ray')}"
PACKAGES = "opt/ray"
LAUNCHER = "#!/usr/bin/python3\nimport sys\nfrom ray.scripts.scripts import main\nsys.exit(main())\n"
# Ray's other languages and libraries, which no test on a node uses
NOT_NEEDED = ("ray/cpp/", "ray/jars/", "ray/rllib/", "ray/tune/", "ray/train/")


def ray_image(folder: pathlib.Path) -> Image:
    """Debian, its Python, and Ray with what it needs; `folder` is where a few files of it are made."""
    if sys.version_info[:2] != (3, 11):
        raise Unavailable("Ray's packages here are not for the Python of Debian 12: make .venv with Python 3.11")
    try:
        debian = product.base()
    except images.ImageFailed as error:
        raise Unavailable(f"there is no Debian to put Ray on: {error}") from error
    folder.mkdir(parents=True, exist_ok=True)
    launcher = folder / "ray"
    launcher.write_text(LAUNCHER)
    launcher.chmod(0o755)
    contents = {"usr/local/bin/ray": launcher, "usr/local/bin/python": _python(folder), **_files()}
    return Image(NAME, contents, environment={"PYTHONPATH": f"/{PACKAGES}"}, beneath=(debian,))


def _python(folder: pathlib.Path) -> pathlib.Path:
    """`python` as the submitter's command and Ray's jobs call it."""
    found = folder / "python"
    found.write_text('#!/bin/sh\nexec /usr/bin/python3 "$@"\n')
    found.chmod(0o755)
    return found


def _files() -> dict[str, pathlib.Path]:
    """Every file of Ray and of what it needs, by its path in the image."""
    found = {}
    for name in _needed("ray", "default"):
        for file in importlib.metadata.files(name) or ():
            inside = file.as_posix()
            path = pathlib.Path(str(file.locate()))
            if not inside.startswith(("..", *NOT_NEEDED)) and path.is_file():
                found[f"{PACKAGES}/{inside}"] = path
    return found


def _needed(package: str, extra: str) -> set[str]:
    found: set[str] = set()
    todo = [(package, extra)]
    while todo:
        name, wanted = todo.pop()
        if name in found:
            continue
        found.add(name)
        asked = map(Requirement, importlib.metadata.requires(name) or ())
        due = [one for one in asked if one.marker is None or one.marker.evaluate({"extra": wanted})]
        todo += [(one.name, min(one.extras, default="")) for one in due]
    return found
