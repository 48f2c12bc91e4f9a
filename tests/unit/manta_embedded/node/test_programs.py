"""Programs that pods expect of their image."""

import http.server
import pathlib
import subprocess
import sys
import threading

import pytest

from manta_embedded.node import programs


class Answers(http.server.BaseHTTPRequestHandler):
    """Says that it is well at one path."""

    def do_GET(self) -> None:
        self.send_response(200 if self.path == "/well" else 500)
        self.end_headers()
        self.wfile.write(b"success")

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Nothing."""


@pytest.mark.parametrize(("path", "code", "said"), [("well", 0, b"success"), ("ill", 1, b"")])
def test_wget_as_probes_call_it(tmp_path: pathlib.Path, path: str, code: int, said: bytes) -> None:
    programs.install(tmp_path)
    with http.server.HTTPServer(("127.0.0.1", 0), Answers) as server:
        answering = threading.Thread(target=server.handle_request)
        answering.start()
        url = f"http://127.0.0.1:{server.server_port}/{path}"
        command = [sys.executable, str(tmp_path / "wget"), "--tries", "1", "-T", "10", "-q", "-O-", url]
        done = subprocess.run(command, capture_output=True, timeout=30, check=False)
        answering.join()
    assert (done.returncode, done.stdout) == (code, said)
