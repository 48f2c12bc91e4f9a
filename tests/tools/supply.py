"""What is shipped with Manta: an SBOM, the licences, and a check against known advisories.

`python -m tests.tools.supply sbom|licences FILE`, `python -m tests.tools.supply audit [--all]`.
"""

import functools
import hashlib
import json
import os
import pathlib
import re
import sys
import urllib.error
import urllib.request
import uuid
from collections.abc import Iterable, Iterator
from importlib.metadata import Distribution, distribution
from typing import Any, NamedTuple

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.tools.pins import pins

ROOT = pathlib.Path(__file__).parents[2]
LOCK = ROOT / "requirements.lock"
SHIPPED = "manta-cli"  # and all that it needs
OURS = "manta-"
ADVISORIES = "https://api.osv.dev"
ANSWER_SECONDS = 30
BATCH = 100
UNAVAILABLE = 69
# The image's; so that every machine writes the same files.
MACHINE = {
    "python_version": "3.11",
    "python_full_version": "3.11.2",
    "sys_platform": "linux",
    "platform_system": "Linux",
    "platform_machine": "x86_64",
    "platform_python_implementation": "CPython",
    "implementation_name": "cpython",
}
# Needed by some versions of Python only, so perhaps not installed here: licence and summary.
ELSEWHERE = {"async-timeout": ("Apache-2.0", "Timeout context manager for asyncio programs")}
SPDX = {
    "Apache 2.0": "Apache-2.0",
    "Apache 2 License": "Apache-2.0",
    "3-Clause BSD License": "BSD-3-Clause",
    "MIT License": "MIT",
}
LICENCES_HEAD = """# Licences

Made by `make licences` from the metadata of the packages; do not edit. Manta itself is under Apache-2.0. These packages
are shipped with it, in the image or with `manta-cli`. Ray and what only the tests need are not.

| package | licence | what it is |
|---|---|---|
"""


class Package(NamedTuple):
    """One package that is shipped, and what it needs itself."""

    name: str
    version: str
    licence: str
    summary: str
    needs: tuple[str, ...]


@functools.cache
def shipped(root: str = SHIPPED) -> tuple[Package, ...]:
    """Everything that a package needs on this system, by name; our own packages aside."""
    found: dict[str, Package] = {}
    left = [Requirement(root)]
    while left:
        wanted = left.pop()
        extras = wanted.extras or {""}
        name = canonicalize_name(wanted.name)
        if name in ELSEWHERE:
            found[name] = Package(name, locked(LOCK.read_text())[name], *ELSEWHERE[name], ())
            continue
        needed = [one for extra in extras for one in _requirements(distribution(name), extra)]
        known = found.get(name)
        needs = {canonicalize_name(one.name) for one in needed} | set(known.needs if known else ())
        if known is None or set(known.needs) != needs:
            found[name] = _package(distribution(name), tuple(sorted(needs)))
            left += needed
    return tuple(found[name] for name in sorted(found) if not name.startswith(OURS))


def locked(lock: str) -> dict[str, str]:
    """The version of every package of a lock file."""
    requirements = (Requirement(pin) for pin in pins(lock))
    return {canonicalize_name(one.name): str(one.specifier).removeprefix("==") for one in requirements}


def sbom() -> str:
    """A CycloneDX document of what is shipped; the same lock file gives the same text."""
    lock = LOCK.read_text()
    packages, version = shipped(), distribution(SHIPPED).version
    document: dict[str, Any] = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_OID, lock)}",
        "version": 1,
        "metadata": {
            "component": {
                "type": "application",
                "bom-ref": "manta",
                "name": "manta",
                "version": version,
                "licenses": [{"license": {"id": "Apache-2.0"}}],
                "properties": [
                    {"name": "manta:requirements.lock:sha256", "value": hashlib.sha256(lock.encode()).hexdigest()}
                ],
            }
        },
        "components": [_component(package) for package in packages],
        "dependencies": _edges(packages),
    }
    return json.dumps(document, indent=2) + "\n"


def licences() -> str:
    """The page of the licences."""
    rows = (f"| {one.name} | {one.licence} | {_cell(one.summary)} |\n" for one in shipped())
    return LICENCES_HEAD + "".join(rows)


def audit(packages: Iterable[tuple[str, str]], address: str) -> list[tuple[str, str, str]]:
    """The advisories that are known for these packages: name, version, id. OSError when nobody answers."""
    found = []
    known = list(packages)
    for start in range(0, len(known), BATCH):
        part = known[start : start + BATCH]
        queries = [{"package": {"ecosystem": "PyPI", "name": name}, "version": version} for name, version in part]
        answers = _ask(f"{address}/v1/querybatch", {"queries": queries})["results"]
        for (name, version), answer in zip(part, answers, strict=True):
            found += [(name, version, one["id"]) for one in answer.get("vulns", ())]
    return found


def main(words: list[str]) -> int:
    """Write a file, or check; the exit code."""
    match words:
        case ["sbom" | "licences" as what, file]:
            path = pathlib.Path(file)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text({"sbom": sbom, "licences": licences}[what](), encoding="utf-8")
            return 0
        case ["audit", *flags]:
            return _audited(flags)
    print(__doc__, file=sys.stderr)
    return 2


def _audited(flags: list[str]) -> int:
    address = os.environ.get("MANTA_ADVISORIES", ADVISORIES)
    versions = locked(LOCK.read_text())
    names = sorted(versions) if "--all" in flags else [one.name for one in shipped()]
    try:
        found = audit([(name, versions[name]) for name in names], address)
    except OSError as error:
        print(f"audit: nothing was checked: {address} cannot be reached ({error}).", file=sys.stderr)
        print("audit: run it where the net is, or set MANTA_ADVISORIES to a mirror of OSV's API.", file=sys.stderr)
        return UNAVAILABLE
    for name, version, advisory in found:
        print(f"{name} {version}: {advisory}, see https://osv.dev/vulnerability/{advisory}")
    print(f"audit: {len(names)} packages, {len(found)} known advisories")
    return 1 if found else 0


def _requirements(found: Distribution, extra: str) -> Iterator[Requirement]:
    for text in found.requires or ():
        one = Requirement(text)
        if one.marker is None or one.marker.evaluate({**MACHINE, "extra": extra}):
            yield one


def _package(found: Distribution, needs: tuple[str, ...]) -> Package:
    about = found.metadata
    name = canonicalize_name(about["Name"])
    return Package(name, found.version, _licence(about.get_all), (about["Summary"] or "").strip(), needs)


def _licence(every: Any) -> str:
    """The expression, else a short name, else what the classifiers say."""
    (expression,) = every("License-Expression") or [""]
    (text,) = every("License") or [""]
    classified = [one.rpartition(" :: ")[2] for one in every("Classifier") or () if one.startswith("License ::")]
    short = text.strip() if len(text) < 60 and "\n" not in text.strip() else ""
    told = expression or short or ", ".join(classified) or "not told"
    return SPDX.get(told, told)


def _component(package: Package) -> dict[str, Any]:
    is_expression = re.fullmatch(r"[\w.+-]+( (AND|OR|WITH) [\w.+-]+)*", package.licence)
    named: dict[str, Any] = {"license": {"name": package.licence}}
    return {
        "type": "library",
        "bom-ref": _purl(package),
        "name": package.name,
        "version": package.version,
        "purl": _purl(package),
        "licenses": [{"expression": package.licence} if is_expression else named],
    }


def _purl(package: Package) -> str:
    return f"pkg:pypi/{package.name}@{package.version}"


def _edges(packages: Iterable[Package]) -> list[dict[str, Any]]:
    return [_edge("manta", _direct(), packages), *(_edge(_purl(one), one.needs, packages) for one in packages)]


def _edge(source: str, needs: Iterable[str], packages: Iterable[Package]) -> dict[str, Any]:
    references = {package.name: _purl(package) for package in packages}
    return {"ref": source, "dependsOn": sorted(references[name] for name in needs if name in references)}


def _direct() -> set[str]:
    """What our own packages need themselves."""
    ours, left = set[str](), [SHIPPED]
    needs = set[str]()
    while left:
        name = left.pop()
        if name not in ours:
            ours.add(name)
            names = {canonicalize_name(one.name) for one in _requirements(distribution(name), "")}
            left += [one for one in names if one.startswith(OURS)]
            needs |= {one for one in names if not one.startswith(OURS)}
    return needs


def _cell(text: str) -> str:
    return text.splitlines()[0].replace("|", "\\|") if text else ""


def _ask(address: str, body: Any) -> Any:
    request = urllib.request.Request(
        address, data=json.dumps(body).encode(), headers={"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=ANSWER_SECONDS) as answer:
        return json.loads(answer.read())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
