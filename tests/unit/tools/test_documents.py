"""How commands are found in the documents, and that every document can be run."""

import pathlib

import pytest

from tests.tools import documents
from tests.tools.documents import Block, Command, PageError, matches, pages, read

SKIPS = 12  # a reviewer sees each; more of them need a reason as good


def page(folder: pathlib.Path, text: str, stage: str = "standalone") -> pathlib.Path:
    file = folder / "page.md"
    file.write_text(f"# A page\n\n<!-- run on: {stage} -->\n\n{text}")
    return file


def test_blocks_are_found_in_order(tmp_path: pathlib.Path) -> None:
    text = (
        "```yaml name=one.yaml\na: 1\n```\n\n```sh\nkubectl apply -f one.yaml\n```\n\n"
        "```console\n$ kubectl get \\\n  pods\nNAME   AGE\nx      3s\n$ true\n```\n\n```text\na drawing\n```\n"
    )
    assert [block._replace(line=0) for block in read(page(tmp_path, text)).blocks] == [
        Block(0, file="one.yaml", text="a: 1\n"),
        Block(0, (Command("kubectl apply -f one.yaml"),)),
        Block(0, (Command("kubectl get \\\n  pods", "NAME   AGE\nx      3s"), Command("true"))),
    ]


def test_marks_are_heeded(tmp_path: pathlib.Path) -> None:
    text = (
        "<!-- not run: it needs a cloud -->\n```sh\ncloud up\n```\n\n"
        "<!-- a terminal of its own, until: Manta is up -->\n```sh\nmanta up\n```\n"
    )
    first, second = read(page(tmp_path, text)).blocks
    assert (first.skipped, first.commands) == ("it needs a cloud", ())
    assert (second.until, second.commands) == ("Manta is up", (Command("manta up"),))


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        pytest.param("```\nls\n```\n", "a block of ''", id="no language"),
        pytest.param("```yaml\na: 1\n```\n", "a block of 'yaml'", id="a file without a name"),
        pytest.param("```console\nls\n```\n", "begins with a command", id="no prompt"),
        pytest.param("Type\n\n    ls\n\nand see.\n", "indented block", id="an indented block"),
        pytest.param("<!-- not run: -->\n```python\nx\n```\n", "a block of 'python'", id="a language that nobody runs"),
    ],
)
def test_what_would_be_passed_over_is_refused(tmp_path: pathlib.Path, text: str, complaint: str) -> None:
    with pytest.raises(PageError, match=complaint):
        read(page(tmp_path, text))


def test_a_page_must_say_where_it_runs(tmp_path: pathlib.Path) -> None:
    with pytest.raises(PageError, match="say where"):
        read(page(tmp_path, "```sh\ntrue\n```\n", stage="the moon"))
    assert read(page(tmp_path, "Nothing to run.\n", stage="the moon")).blocks == ()


@pytest.mark.parametrize(
    ("stated", "printed", "same"),
    [
        pytest.param("NAME  AGE\nx  5s", "NAME      AGE\nx         2m10s\n", True, id="spaces and ages"),
        pytest.param("pod/a-... created", "pod/a-x1z created", True, id="anything in a line"),
        pytest.param("a\n...\nd", "a\nb\nc\nd", True, id="any lines"),
        pytest.param("a\nd", "a\nb\nd", False, id="a line that is not stated"),
        pytest.param("a\nb", "a", False, id="a line that is missing"),
        pytest.param("a.c", "abc", False, id="a dot is a dot"),
    ],
)
def test_outputs_are_compared(stated: str, printed: str, same: bool) -> None:
    assert matches(stated, printed) is same


def test_every_page_can_be_run_and_few_blocks_are_not() -> None:
    found = pages()
    skipped = [(block.skipped, page.path) for page in found for block in page.blocks if block.skipped]
    assert len(skipped) <= SKIPS, skipped
    assert all(len(reason) > 20 for reason, _ in skipped), "a reason is a sentence"
    assert {page.stage for page in found} >= {"standalone", "cluster", "cluster with KubeRay"}


def test_links_lead_somewhere() -> None:
    broken = [
        f"{path.relative_to(documents.ROOT)}: {target}"
        for path in [*documents.ROOT.glob("*.md"), *documents.ROOT.glob("docs/**/*.md")]
        for target in documents.links(path.read_text())
        if not (path.parent / target).exists()
    ]
    assert broken == []
