"""Label selectors: what they let through, and which texts are none."""

import pytest

from manta_embedded.store.errors import StatusError
from manta_embedded.store.selectors import label_selector

LABELS = {"tier": "front", "example.com/size": "10", "empty": ""}


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        pytest.param("tier=front", True, id="equal"),
        pytest.param("tier==back", False, id="not that value"),
        pytest.param("tier!=back", True, id="another value"),
        pytest.param("none!=back", True, id="not there is another value"),
        pytest.param("tier in (back, front)", True, id="one of"),
        pytest.param("tier notin (back)", True, id="none of"),
        pytest.param("none notin (back)", True, id="not there is none of"),
        pytest.param("tier", True, id="there"),
        pytest.param("!tier", False, id="not there"),
        pytest.param("empty=", True, id="an empty value"),
        pytest.param("empty in (,x)", True, id="an empty value among others"),
        pytest.param("example.com/size>9", True, id="greater"),
        pytest.param("example.com/size<9", False, id="not less"),
        pytest.param("tier>1", False, id="no number is not greater"),
        pytest.param("tier=front,!none,empty", True, id="all of several"),
        pytest.param("tier=front,none", False, id="not all of several"),
    ],
)
def test_a_selector(text: str, shown: bool) -> None:
    selector = label_selector(text)
    assert selector is not None
    assert selector(LABELS) is shown


@pytest.mark.parametrize("text", ["", "  "])
def test_no_selector_is_none(text: str) -> None:
    assert label_selector(text) is None


@pytest.mark.parametrize(
    "text", ["a b", "=a", "a in b", "a in (b", "a in (b c)", "a=b=c", "a>x", "(", "a,", "_=b", "a=b!"]
)
def test_a_text_that_is_no_selector_is_refused(text: str) -> None:
    with pytest.raises(StatusError) as refusal:
        label_selector(text)
    assert refusal.value.code == 400
