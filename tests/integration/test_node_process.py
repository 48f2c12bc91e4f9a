"""A node in a process of its own: killed and started again, without root, without namespaces."""

import json
import os
import pathlib
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from manta_embedded.node.ledger import began
from tests.integration.node_world import FILES_IN_TMP
from tests.parts.patience import patient
from tests.parts.process import wait_until

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = (sys.executable, "-m", "tests.integration.node_process")
# Root's own folder is closed to others, and our Python or this checkout may be in it: shown to them in a mount
# namespace of its own.
AS_NOBODY = """
set -e
home=$1 base=$2 checkout=$3; shift 3
keep=$(mktemp -d) shown=()
for path in "$base" "$checkout"; do
  case $path in "$home"/*)
    mkdir "$keep/${#shown[@]}"; mount --bind "$path" "$keep/${#shown[@]}"; shown+=("$path");;
  esac
done
if [ ${#shown[@]} -gt 0 ]; then
  mount -t tmpfs -o mode=755 tmpfs "$home"
  for number in "${!shown[@]}"; do mkdir -p "${shown[number]}"; mount --move "$keep/$number" "${shown[number]}"; done
  cd "$checkout"
fi
rm -d "$keep"/* "$keep" 2>/dev/null || true
exec setpriv --reuid 65534 --regid 65534 --clear-groups "$@"
"""
UNPRIVILEGED = (
    *("unshare", "--mount", "--propagation", "private", "bash", "-c", AS_NOBODY, "-"),
    *(str(pathlib.Path.home()), os.path.realpath(sys.base_prefix), str(ROOT)),
)


class NodeProcess:
    """The other end of such a process."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self.process = process

    def ask(self, script: str) -> dict[str, Any]:
        """Run a pod; what became of it."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{script}\n")
        self.process.stdin.flush()
        return self.answer()

    def answer(self) -> dict[str, Any]:
        """The next line that it tells."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, "the node's process has ended"
        found: dict[str, Any] = json.loads(line)
        return found


@contextmanager
def node_process(folder: pathlib.Path, *more: str, prefix: tuple[str, ...] = ()) -> Iterator[NodeProcess]:
    """A node until the end of the block."""
    process = subprocess.Popen(
        [*prefix, *PROGRAM, str(folder), *more],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env={**os.environ, "HOME": "/tmp"},
    )
    with process:
        try:
            found = NodeProcess(process)
            assert found.answer() == {"ready": True}
            yield found
        finally:
            assert process.stdin is not None
            process.stdin.close()
            try:
                process.wait(timeout=patient(30))
            finally:
                process.kill()


def is_gone(pid: int) -> bool:
    """Whether there is no such process."""
    return not began(pid)


def test_pods_end_with_a_node_that_is_killed(tmp_path: pathlib.Path) -> None:
    with node_process(tmp_path, "enter") as node:
        (pid,) = node.ask("exec sleep 1000")["pids"]
        assert not is_gone(pid)
        node.process.kill()
        wait_until("the pod is gone", lambda: is_gone(pid), limit_seconds=10)


def test_orphans_are_ended_at_the_next_start(tmp_path: pathlib.Path) -> None:
    with node_process(tmp_path, "enter") as node:
        (pid,) = node.ask("exec sleep 1000")["pids"]
        os.kill(pid, signal.SIGSTOP)  # it does not notice that its node is gone
        node.process.kill()
        node.process.wait()
    assert not is_gone(pid)
    with node_process(tmp_path, "enter"):
        wait_until("the orphan is gone", lambda: is_gone(pid), limit_seconds=10)


@pytest.mark.parametrize("prefix", [(), UNPRIVILEGED], ids=["as root", "as nobody"])
def test_in_namespaces_of_its_own(tmp_path: pathlib.Path, prefix: tuple[str, ...]) -> None:
    folder = tmp_path / "node"
    folder.mkdir()
    folder.chmod(0o777)
    for parent in (tmp_path, tmp_path.parent, tmp_path.parent.parent):
        parent.chmod(0o755)
    with node_process(folder, "enter", prefix=prefix) as node:
        found = node.ask(
            f"echo $PPID; hostname; ls /var/run/secrets/kubernetes.io/serviceaccount; touch /tmp/x; {FILES_IN_TMP}"
        )
        assert found["phase"] == "Succeeded", found
        assert found["log"].split() == ["1", "pod-1", "ca.crt", "namespace", "token", "x"]


def test_without_namespaces(tmp_path: pathlib.Path) -> None:
    with node_process(tmp_path, "plain") as node:
        found = node.ask("echo $HOSTNAME; (setsid sleep 4321 &); exit 3")
        assert (found["phase"], found["log"]) == ("Failed", "pod-1\n")
        assert found["state"]["terminated"]["exitCode"] == 3
