"""Puts together what an image holds: `python3 tree.py TREE [PATH...]`, in a build stage.

With paths the tree becomes this Python with its standard library, the paths, every shared library that they need, and a
numeric user; without any it is taken as it is. Then its modules are compiled, and nothing in it tells when it was made.
"""

import compileall
import os
import pathlib
import py_compile
import re
import shutil
import stat
import subprocess
import sys
import sysconfig
from collections.abc import Iterator

ROOT = pathlib.Path("/")
MADE_AT = int(os.environ.get("SOURCE_DATE_EPOCH", "0"))
USER = 65532
# What a service never loads of Python: its tests, its installers and its windows
NOT_NEEDED = shutil.ignore_patterns(
    "__pycache__", "*.a", "*.o", "config-*", "dist-packages", "ensurepip", "idlelib", "lib2to3", "pydoc_data",
    "site-packages", "test", "tests", "tkinter", "turtle*", "_test*", "_tkinter*",
)  # fmt: skip
FILES = {
    "etc/passwd": f"manta:x:{USER}:{USER}::/tmp:/nonexistent\n",
    "etc/group": f"manta:x:{USER}:\n",
    "etc/nsswitch.conf": "hosts: files dns\n",
}
CERTIFICATES = pathlib.Path("/etc/ssl/certs/ca-certificates.crt")


def main(tree: pathlib.Path, paths: list[pathlib.Path]) -> None:
    """Fill the folder `tree`, and finish it."""
    if paths:
        _fill(tree, paths)
    _compile(tree)
    _forget_when(tree)


def _fill(tree: pathlib.Path, paths: list[pathlib.Path]) -> None:
    _lay_out(tree)
    for path in [*_python(), *paths]:
        _take(tree, path)
    for library in _libraries(tree):
        _take(tree, library)
    if CERTIFICATES.exists():
        _take(tree, CERTIFICATES)
    _know_libraries(tree)


def _lay_out(tree: pathlib.Path) -> None:
    """Folders, those that Debian keeps as links, and the user."""
    for folder in ("etc", "tmp", "usr"):
        (tree / folder).mkdir(parents=True)
    (tree / "tmp").chmod(0o1777)
    for link in ROOT.iterdir():
        if link.is_symlink() and str(link.readlink()).startswith("usr/lib"):
            (tree / link.name).symlink_to(link.readlink())
            (tree / link.readlink()).mkdir(parents=True, exist_ok=True)
    for name, text in FILES.items():
        (tree / name).write_text(text)


def _python() -> Iterator[pathlib.Path]:
    """The interpreter, the names that it goes by, and its standard library."""
    binary = pathlib.Path(sys.base_prefix, "bin", f"python3.{sys.version_info.minor}")
    yield binary.resolve()
    yield from {binary, binary.with_name("python3")} - {binary.resolve()}
    yield pathlib.Path(sysconfig.get_path("stdlib", vars={"installed_base": sys.base_prefix}))


def _take(tree: pathlib.Path, path: pathlib.Path) -> None:
    """Copy a file, a link or a folder to where it was; a link takes along what it leads to."""
    target = _within(tree, path)
    target.parent.mkdir(parents=True, exist_ok=True)
    if path.is_dir():
        shutil.copytree(path, target, symlinks=True, ignore=NOT_NEEDED if "/python3" in str(path) else None)
    elif path.is_symlink() and not target.is_symlink():
        target.symlink_to(path.readlink())
        _take(tree, path.parent / path.readlink())
    elif not target.exists():
        shutil.copy2(path, target)


def _within(tree: pathlib.Path, path: pathlib.Path) -> pathlib.Path:
    """Where a path of the base is in the tree; folders that are links in both are followed."""
    return tree / path.parent.resolve().relative_to(ROOT) / path.name


def _libraries(tree: pathlib.Path) -> list[pathlib.Path]:
    """Every shared library, the loader included, that a program or a library in the tree needs of the base."""
    found: set[str] = set()
    for path in tree.rglob("*"):
        if path.is_file() and not path.is_symlink() and _is_program(path):
            said = subprocess.run(["ldd", path], check=False, capture_output=True, text=True).stdout
            found.update(re.findall(r"(?:=> |^\s)(/\S+) \(0x", said, re.MULTILINE))
    inside = str(tree.resolve())
    return sorted(pathlib.Path(one) for one in found if not one.startswith(inside))


def _is_program(path: pathlib.Path) -> bool:
    with path.open("rb") as file:
        return file.read(4) == b"\x7fELF"


def _know_libraries(tree: pathlib.Path) -> None:
    """The loader's cache: Python's own library may be where the loader would not look."""
    shutil.copy2("/etc/ld.so.conf", tree / "etc")
    shutil.copytree("/etc/ld.so.conf.d", tree / "etc/ld.so.conf.d")
    subprocess.run(["ldconfig", "-X", "-r", tree], check=True)
    shutil.rmtree(tree / "var", ignore_errors=True)


def _compile(tree: pathlib.Path) -> None:
    """Modules are compiled here, since nothing can be written later; they are known by what they hold, not by when."""
    mode = py_compile.PycInvalidationMode.UNCHECKED_HASH
    compileall.compile_dir(tree, maxlevels=64, quiet=2, stripdir=str(tree), prependdir="/", invalidation_mode=mode)


def _forget_when(tree: pathlib.Path) -> None:
    for path in [tree, *tree.rglob("*")]:
        if not path.is_symlink() and path != tree / "tmp":
            path.chmod(stat.S_IMODE(path.stat().st_mode) & ~0o022)  # whatever umask the sources were checked out with
        os.utime(path, (MADE_AT, MADE_AT), follow_symlinks=False)


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]), [pathlib.Path(path) for path in sys.argv[2:]])
