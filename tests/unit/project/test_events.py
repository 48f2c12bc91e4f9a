"""The page of the events names those that the services tell of, and no others."""

import pathlib
import re

ROOT = pathlib.Path(__file__).parents[3]
PAGE = ROOT / "docs/reference/events.md"
DEEDS = ("Created", "Updated", "Deleted", "FailedToCreate", "FailedToUpdate", "FailedToDelete")
LITERAL = re.compile(r'"([A-Z][A-Za-z]+)"')
EVENT = re.compile(rf"(?:{'|'.join(DEEDS)}|FailedTo|Invalid(?=Ray)|ForceDeleted)[A-Z]\w+")


def literals() -> set[str]:
    return {word for path in ROOT.glob("services/*/src/**/*.py") for word in LITERAL.findall(path.read_text())}


def named() -> set[str]:
    rows = PAGE.read_text().partition("## Conditions")[0].splitlines()
    return {word for row in rows if row.startswith("| `") for word in re.findall(r"`(\w+)`", row.split("|")[1])}


def test_every_event_of_the_page_is_told_somewhere() -> None:
    known = literals()
    known |= {deed + word for word in known for deed in DEEDS}
    known |= {f"{deed}{what}Pod" for deed in ("Deleted", "FailedToDelete") for what in ("Head", "Worker")}
    assert named() - known == set()


def test_every_event_that_is_told_is_on_the_page() -> None:
    assert {word for word in literals() if EVENT.fullmatch(word)} - named() == set()


def test_every_condition_of_the_page_is_set_somewhere() -> None:
    table = PAGE.read_text().partition("## Conditions")[2].splitlines()
    conditions = {
        word for row in table if row.startswith("| Ray") for word in re.findall(r"`(\w+)`", row.split("|")[2])
    }
    assert conditions
    assert conditions <= literals() | {"HeadPodReady"}
