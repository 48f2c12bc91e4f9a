"""The images of the tests have the versions of the packages, and can be built from them."""

import io
import os
import pathlib
import subprocess
import sys
import tarfile

from tests.tools import images


def test_images_are_named_after_the_versions_of_the_packages() -> None:
    assert images.nats_image() == f"nats:{images.nats_version()}"
    assert images.redis_image() == f"redis:{images.redis_version()}"


def test_the_redis_image_has_what_its_binary_needs() -> None:
    contents, _ = images.redis_contents()
    assert "usr/local/bin/redis-server" in contents
    assert any(pathlib.Path(name).name.startswith("libc.so") for name in contents)
    assert any(pathlib.Path(name).name.startswith("ld-linux") for name in contents)


def test_what_goes_into_an_image_can_be_executed(tmp_path: pathlib.Path) -> None:
    (tmp_path / "program").write_bytes(b"12345")
    with tarfile.open(fileobj=io.BytesIO(images.packed({"bin/program": tmp_path / "program"}))) as tar:
        [entry] = tar.getmembers()
    assert (entry.name, entry.size, entry.mode) == ("bin/program", 5, 0o755)


def test_without_an_engine_it_is_a_sentence(tmp_path: pathlib.Path) -> None:
    command = [sys.executable, images.__file__]
    environment = os.environ | {"DOCKER_HOST": f"unix://{tmp_path}/none"}
    done = subprocess.run(command, check=False, env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert done.stderr.startswith(f"images: no Docker engine answers at unix://{tmp_path}/none")
    assert "Traceback" not in done.stderr
