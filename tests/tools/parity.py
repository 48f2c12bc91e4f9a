"""`make parity PARITY=DIR`: plays recorded cases against an operator on our control plane and prints what differs."""

import argparse
import concurrent.futures
import contextlib
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence

from manta_cli.services import BUILT
from tests.parts.control_plane import ControlPlane
from tests.parts.dns import NameServer
from tests.parts.ports import free_port
from tests.parts.process import PartFailed, Process, Unavailable, accepts
from tests.tools.build import BuildFailed, ensure
from tests.tools.catalogue import TOOLS
from tests.tools.differences import Known, known, unexplained

ROOT = pathlib.Path(__file__).resolve().parents[2]
DIFFERENCES = ROOT / "docs" / "reference" / "known-differences.md"
GATES = "RayClusterStatusConditions=true,RayJobDeletionPolicy=true,RayMultiHostIndexing=true,RayCronJob=true"
INSIDE = "MANTA_PARITY_INSIDE"
CASE_LIMIT_SECONDS = 600


class CannotPlay(Exception):
    """The stage cannot be set; the message says what is missing."""


def main() -> int:
    """Set the stage, play every case, print the differences; 1 when a difference is not explained."""
    options = _options()
    try:
        if os.environ.get(INSIDE):
            return _play_inside(options)
        _check(options)
        return _enter_namespace()
    except (CannotPlay, PartFailed, Unavailable, BuildFailed) as error:
        print(f"parity: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("parity: stopped", file=sys.stderr)
        return 130


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make parity", description=__doc__)
    parser.add_argument("folder", type=pathlib.Path, nargs="?", help="with parity.py, cases/ and golden/")
    parser.add_argument("--operator", choices=["manta", "kuberay"], default=os.environ.get("OPERATOR") or "manta")
    parser.add_argument("--cases", default=os.environ.get("CASES") or "*", help="a pattern of case names")
    parser.add_argument("--at-once", type=int, default=4, help="cases played side by side")
    parser.add_argument("--keep", type=pathlib.Path, help="also write what came out into this folder")
    return parser.parse_args()


def _check(options: argparse.Namespace) -> None:
    if options.folder is None or not (options.folder / "parity.py").is_file():
        raise CannotPlay("say which folder of recorded cases to play: make parity PARITY=DIR (with parity.py in it)")
    if os.geteuid() != 0 or not shutil.which("unshare") or not shutil.which("ip"):
        raise CannotPlay("needs root, unshare and ip: every pod gets an address in a network namespace of its own")


def _enter_namespace() -> int:
    """Run this program again where 10.88.0.0/16 is this machine and no packet leaves it."""
    command = ["unshare", "--net", "--mount", "--", sys.executable, "-m", "tests.tools.parity", *sys.argv[1:]]
    return subprocess.run(command, env=os.environ | {INSIDE: "1"}, check=False).returncode


def needed(case: str) -> set[str]:
    """The services that a case needs, by its name."""
    kind = case.removeprefix("sample.ray-")
    if kind == "cluster.gcs-ft-redis":  # it is deleted, and Redis cleaned up
        return {"watcher", "cluster-reconciler", "janitor"}
    if kind.startswith("cluster"):
        return {"watcher", "cluster-reconciler"}
    if kind.startswith("service"):
        return {"watcher", "cluster-reconciler", "serve-reconciler", "dashboard-gateway"}
    return {"watcher", "cluster-reconciler", "job-reconciler", "dashboard-gateway", "janitor"}


def _playable(options: argparse.Namespace) -> list[pathlib.Path]:
    cases = sorted((options.folder / "cases").glob(f"{options.cases}.yaml"))
    if not cases:
        raise CannotPlay(f"no case is called {options.cases} in {options.folder}/cases")
    built = set(BUILT) if options.operator == "manta" else set().union(*(needed(case.stem) for case in cases))
    playable = [case for case in cases if needed(case.stem) <= built]
    if len(playable) < len(cases):
        print(f"parity: {len(cases) - len(playable)} cases need services that are not built yet and are not played")
    return playable


def _play_inside(options: argparse.Namespace) -> int:
    cases = _playable(options)
    if not cases:
        return 0
    with contextlib.ExitStack() as stack:
        folder = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="parity-")))
        stack.enter_context(_names(folder))
        plane = ControlPlane.start(folder)
        stack.callback(plane.stop)
        operator = _operator(options.operator, plane, folder)
        stack.callback(operator.kill)
        _start(operator)
        stack.callback(_start_stub(options.folder, folder).kill)
        return _compare(cases, options, plane)


@contextlib.contextmanager
def _names(folder: pathlib.Path) -> Iterator[None]:
    """Addresses of pods and names of services lead to this machine."""
    resolver = folder / "resolv.conf"
    resolver.write_text("nameserver 127.0.0.1\noptions timeout:1 attempts:2\n")
    for command in (
        ["ip", "link", "set", "lo", "up"],
        ["ip", "route", "add", "local", "10.88.0.0/16", "dev", "lo"],
        ["mount", "--bind", str(resolver), "/etc/resolv.conf"],
    ):
        subprocess.run(command, check=True)
    server = NameServer()
    server.start()
    yield
    server.stop()
    subprocess.run(["umount", "/etc/resolv.conf"], check=True)


def _operator(name: str, plane: ControlPlane, folder: pathlib.Path) -> Process:
    """Install the operator's own CRDs; the process that will act on them."""
    if name == "kuberay":
        ensure([TOOLS["kuberay"]])
        crds, environment = TOOLS["kuberay"].path.parent / "config/crd/bases", {"KUBECONFIG": str(plane.kubeconfig)}
        command = [str(TOOLS["kuberay"].path), f"--feature-gates={GATES}", "--enable-leader-election=false"]
        command += [f"--metrics-addr=127.0.0.1:{free_port()}", f"--health-probe-bind-address=127.0.0.1:{free_port()}"]
    else:
        crds, environment = ROOT / "deploy" / "crds", {}
        manta = pathlib.Path(sys.executable).parent / "manta"
        command = [str(manta), "up", "--kubeconfig", str(plane.kubeconfig), "--feature-gates", GATES]
    plane.kubectl("apply", "--server-side", "-f", str(crds))
    plane.kubectl("wait", "--for=condition=Established", "--timeout=120s", "-f", str(crds))
    return Process(name, command, folder / f"{name}.log", environment=environment)


def _start(operator: Process) -> None:
    """Start the operator; it must not end at once."""
    operator.start()
    code = operator.exit_code(within_seconds=3)
    if code is not None:
        raise PartFailed(f"{operator.name} ended at once with code {code}:\n{operator.tail()}")


def _start_stub(recorded: pathlib.Path, folder: pathlib.Path) -> Process:
    stub = Process(
        "stub dashboard", [sys.executable, str(recorded / "stub_dashboard.py"), "4", "8265"], folder / "stub.log"
    )
    stub.start()
    stub.wait_until("it listens", lambda: accepts(8265), limit_seconds=20)
    return stub


def _compare(cases: Sequence[pathlib.Path], options: argparse.Namespace, plane: ControlPlane) -> int:
    found = known(DIFFERENCES.read_text()) if options.operator == "manta" else Known((), frozenset())
    failed = []
    with concurrent.futures.ThreadPoolExecutor(options.at_once) as pool, tempfile.TemporaryDirectory() as kept:
        options.keep = options.keep or pathlib.Path(kept)
        plays = {case.stem: pool.submit(_play, case, options, plane) for case in cases}
        for name, play in plays.items():
            done = play.result()
            differs = [] if done.returncode == 0 else _unexplained(name, options, found) or [done.stderr]
            verdict = _verdict(name, done.returncode, differs, found)
            print(f"parity: {name}: {verdict}", flush=True)
            if verdict == "differs":
                failed.append(name)
                print("\n".join(differs), flush=True)
    print(f"{len(cases) - len(failed)} passed, {len(failed)} failed")
    return 1 if failed else 0


def _unexplained(name: str, options: argparse.Namespace, found: Known) -> list[str]:
    here = options.keep / f"{name}.yaml"
    if not here.is_file():
        return []
    return unexplained((options.folder / "golden" / f"{name}.yaml").read_text(), here.read_text(), found.places)


def _verdict(name: str, code: int, differs: list[str], found: Known) -> str:
    if code == 0:
        return "same"
    if differs == [""]:
        return "same but for known differences"
    return "explained" if name in found.cases else "differs"


def _play(case: pathlib.Path, options: argparse.Namespace, plane: ControlPlane) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(options.folder / "parity.py"), "compare", str(case)]
    command += ["--kubeconfig", str(plane.kubeconfig), "--golden", str(options.folder / "golden")]
    command += ["--keep", str(options.keep)]
    return subprocess.run(command, capture_output=True, text=True, timeout=CASE_LIMIT_SECONDS, check=False)


if __name__ == "__main__":
    sys.exit(main())
