"""The rules that keep Manta's architecture, checked on the source text; each finding is a line to act on."""

import ast
import dataclasses
import pathlib
import re
from collections.abc import Iterable, Iterator

PURE = re.compile(
    r"manta_\w+\.(decide|policies|status|manifests|phases|observed|actions)(\..*)?$"
    r"|manta_common\.(api|crd|ray|validation)(\..*)?$"
)
IMPURE = {"aiohttp", "asyncio", "kubernetes_asyncio", "logging", "nats", "os", "random", "secrets", "time", "uvloop"}
CLOCKS = {"now", "utcnow", "today"}
TIMES = r"\btime\.time(_ns)?$|\b(datetime|date)\.(now|utcnow|today)$|\bCLOCK_REALTIME$"
OWNERS = {
    "nats": r"manta_common\.bus(\..*)?$",
    "kubernetes_asyncio": r"manta_common\.kube(\..*)?$",
}
# Who may ask the machine for the time of day: the clock that begins with it until the API server answers, credentials
# whose end a plug-in told, and what is only shown to people. Everybody else uses the API server's time.
TIME_OF_DAY = re.compile(r"manta_common\.(kube\.(clock|access)|bus\.calls|telemetry\..*)$")
SERVICE = re.compile(r"manta_(watcher|\w+_reconciler|dashboard_gateway|janitor)(\.|$)")
FUNCTION_LINES, MODULE_LINES = 50, 500


@dataclasses.dataclass(frozen=True)
class Module:
    """One source file of ours."""

    name: str
    path: pathlib.Path
    text: str
    tree: ast.Module
    imports: tuple[tuple[str, int], ...]  # dotted name and line


def modules(root: pathlib.Path) -> dict[str, Module]:
    """Every module of the packages under libs and services."""
    found = {}
    for source in sorted([*root.glob("libs/*/src"), *root.glob("services/*/src")]):
        for path in sorted(source.rglob("*.py")):
            name = ".".join(path.relative_to(source).with_suffix("").parts).removesuffix(".__init__")
            text = path.read_text()
            tree = ast.parse(text)
            found[name] = Module(name, path.relative_to(root), text, tree, tuple(_imports(tree)))
    return found


def findings(root: pathlib.Path) -> list[str]:
    """Everything under a root that breaks a rule."""
    known = modules(root)
    rules = (ownership, independence, time_of_day, size, swallowed)
    broken = [line for module in known.values() for rule in rules for line in rule(module)]
    return broken + [line for module in known.values() for line in purity(module, known)]


def ownership(module: Module) -> Iterator[str]:
    """Only the bus imports nats, only the kube client imports kubernetes_asyncio."""
    for imported, line in module.imports:
        owner = OWNERS.get(imported.split(".")[0])
        if owner and not re.match(owner, module.name):
            yield f"{module.path}:{line}: imports {imported}, which only {owner.split('(')[0]} may"


def independence(module: Module) -> Iterator[str]:
    """A service never imports another service."""
    here = SERVICE.match(module.name)
    for imported, line in module.imports:
        there = SERVICE.match(imported)
        if here and there and here.group(1) != there.group(1):
            yield f"{module.path}:{line}: one service imports another ({imported})"


def time_of_day(module: Module) -> Iterator[str]:
    """Services and what they share do not ask the machine for the time of day: it may be set back or ahead."""
    ours = SERVICE.match(module.name) or module.name.startswith("manta_common.")
    if not ours or is_pure(module.name) or TIME_OF_DAY.match(module.name):
        return
    for node in (node for node in ast.walk(module.tree) if isinstance(node, ast.Attribute)):
        asked = ast.unparse(node)
        if re.search(TIMES, asked):
            yield f"{module.path}:{node.lineno}: asks the machine for the time of day ({asked}), not kube.now()"


def purity(module: Module, known: dict[str, Module]) -> Iterator[str]:
    """Pure modules have no clock, no chance, no environment and no await, and import nothing that has."""
    if not is_pure(module.name):
        return
    for imported, line in module.imports:
        way = _way_to_impure(imported, known, seen=set())
        if way:
            yield f"{module.path}:{line}: a pure module reaches {way[-1]} by {' -> '.join(way)}"
    for node in ast.walk(module.tree):
        if isinstance(node, ast.AsyncFunctionDef | ast.Await | ast.AsyncFor | ast.AsyncWith):
            yield f"{module.path}:{node.lineno}: async in a pure module"
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in CLOCKS:
            yield f"{module.path}:{node.lineno}: a pure module reads the clock ({node.func.attr})"


def size(module: Module) -> Iterator[str]:
    """Functions have at most 50 lines, modules at most 500."""
    lines = len(module.text.splitlines())
    if lines > MODULE_LINES:
        yield f"{module.path}: {lines} lines, {MODULE_LINES} at most"
    for node in ast.walk(module.tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            if length > FUNCTION_LINES:
                yield f"{module.path}:{node.lineno}: {node.name} has {length} lines, {FUNCTION_LINES} at most"


def swallowed(module: Module) -> Iterator[str]:
    """No exception is swallowed without a word."""
    for node in ast.walk(module.tree):
        if isinstance(node, ast.ExceptHandler) and all(isinstance(line, ast.Pass) for line in node.body):
            yield f"{module.path}:{node.lineno}: an exception is swallowed"


def is_pure(name: str) -> bool:
    """Whether the rules call this module pure; a `__main__` beside pure modules may read and write files."""
    return bool(PURE.match(name)) and not name.endswith("__main__")


def _way_to_impure(name: str, known: dict[str, Module], seen: set[str]) -> list[str]:
    """The chain of imports from a name to something impure, or nothing."""
    if name.split(".", maxsplit=1)[0] in IMPURE:
        return [name]
    module = known.get(name) or known.get(name.rpartition(".")[0])
    if module is None or module.name in seen:
        return []
    seen.add(module.name)
    for imported, _ in module.imports:
        way = _way_to_impure(imported, known, seen)
        if way:
            return [module.name, *way]
    return []


def _imports(tree: ast.Module) -> Iterable[tuple[str, int]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from ((f"{node.module}.{alias.name}", node.lineno) for alias in node.names)
