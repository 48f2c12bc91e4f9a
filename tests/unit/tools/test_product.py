"""The images of Manta are named after what goes into them, and the Dockerfile takes only what is there."""

import pathlib
import re

import pytest

from tests.tools import images, product


def test_an_image_is_named_after_its_sources(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = product.image("manta")
    assert product.image("manta") == before
    assert product.image("submitter") != before
    other = tmp_path / "deploy" / "image" / "requirements.lock"
    other.parent.mkdir(parents=True)
    other.write_text("nothing")
    monkeypatch.setattr(product, "ROOT", tmp_path)
    monkeypatch.setattr(product, "_sources", list)
    monkeypatch.setattr(product, "LOCKS", (other,))
    assert product.image("manta") != before


def test_no_compiled_modules_are_among_the_sources() -> None:
    found = [path.relative_to(product.ROOT).as_posix() for path in product._sources()]
    assert {"deploy/image/Dockerfile", "deploy/image/tree.py", "libs/cli/pyproject.toml"} <= set(found)
    assert not [name for name in found if "__pycache__" in name or name.endswith(".pyc")]


def test_the_dockerfile_takes_what_the_context_has() -> None:
    text = (product.IMAGE / "Dockerfile").read_text()
    taken = [word for line in re.findall(r"^COPY (?!--from)(.*)$", text, re.MULTILINE) for word in line.split()[:-1]]
    given = [path.relative_to(product.ROOT).as_posix() for path in [*product._sources(), *product.LOCKS]]
    for source in set(taken) - {"deploy/image/wheel[s]"}:
        assert any(name == source or name.startswith(f"{source}/") for name in given), source
    assert set(re.findall(r"^FROM scratch AS (\w+)$", text, re.MULTILINE)) == set(product.TARGETS)


def test_a_program_that_fails_is_a_sentence() -> None:
    with pytest.raises(images.ImageFailed, match=r"`sh -c echo why >&2; exit 3 ...` failed with exit code 3: why"):
        product.run("sh", "-c", "echo why >&2; exit 3")
