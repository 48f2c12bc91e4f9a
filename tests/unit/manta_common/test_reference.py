"""The reference pages are those that the code makes."""

import pathlib

import pytest

from manta_common.reference import main, pages

FOLDER = pathlib.Path(__file__).parents[3] / "docs/reference"


@pytest.mark.parametrize("name", sorted(pages()))
def test_the_page_is_up_to_date(name: str) -> None:
    made = pages()[name]
    assert (FOLDER / name).read_text() == made, "stale: python -m manta_common.reference docs/reference"


def test_the_command_writes_every_page(tmp_path: pathlib.Path) -> None:
    assert main([str(tmp_path)]) == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(pages())
