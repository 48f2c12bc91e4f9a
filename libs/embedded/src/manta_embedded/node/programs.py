"""Small programs that pods expect of their image and that this machine may lack; its own come first."""

import pathlib

# Ray's probes in clusters without a rayVersion are `wget ... | grep success`; many machines have no wget.
WGET = """\
#!/usr/bin/env python3
\"\"\"As much of wget as health checks use: wget [--tries N] [-T SECONDS] [-q] [-O- | -O FILE] URL.\"\"\"

import argparse
import sys
import urllib.request

parser = argparse.ArgumentParser(prog="wget")
parser.add_argument("-t", "--tries", type=int, default=1)
parser.add_argument("-T", "--timeout", type=float, default=60)
parser.add_argument("-q", "--quiet", action="store_true")
parser.add_argument("-O", "--output-document", default="-")
parser.add_argument("url")
given = parser.parse_args()
try:
    with urllib.request.urlopen(given.url, timeout=given.timeout) as answer:
        content = answer.read()
except OSError as error:
    sys.exit(f"wget: {error}")
if given.output_document == "-":
    sys.stdout.buffer.write(content)
else:
    with open(given.output_document, "wb") as file:
        file.write(content)
"""
PROGRAMS = {"wget": WGET}


def install(folder: pathlib.Path) -> None:
    """Have them in a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in PROGRAMS.items():
        path = folder / name
        path.write_text(text)
        path.chmod(0o755)
