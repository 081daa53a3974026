#!/usr/bin/env python3
"""Checks a folder of programs and libraries before it is packed for another machine.

    tools/bundle_contents.py x86_64|aarch64 FOLDER

Every ELF file must be of that architecture, and every library it needs must be the C library's or in the
folder. Prints one line per complaint; exit code 1 when there is one.
"""

import pathlib
import re
import subprocess
import sys

MACHINES = {"x86_64": "X86-64", "aarch64": "AArch64"}
C_LIBRARY = re.compile(r"(ld-linux.*|lib(c|m|dl|pthread|rt))\.so\.\d+")


def readelf(option, path):
    return subprocess.run(["readelf", "-W", option, path], check=True, capture_output=True,
                          text=True).stdout


def is_elf(path):
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(4) == b"\x7fELF"


def complaints(arch, folder):
    """What would keep the ELF files in the folder from running; also their number."""
    files = [path for path in sorted(folder.rglob("*")) if is_elf(path)]
    carried = {path.name for path in files}
    found = []
    for path in files:
        name = path.relative_to(folder)
        machine = re.search(r"Machine:\s*(.*)", readelf("-h", path))[1]
        if MACHINES[arch] not in machine:
            found.append(f"{name}: is for {machine}, not {arch}")
        for needed in re.findall(r"\(NEEDED\).*\[(.*)\]", readelf("-d", path)):
            if needed not in carried and not C_LIBRARY.fullmatch(needed):
                found.append(f"{name}: needs {needed}, which is not there")
    return found, len(files)


def main():
    if len(sys.argv) != 3 or sys.argv[1] not in MACHINES:
        print(__doc__, file=sys.stderr)
        return 2
    found, count = complaints(sys.argv[1], pathlib.Path(sys.argv[2]))
    for line in found:
        print(line)
    print(f"{count} programs and libraries for {sys.argv[1]}, {len(found)} complaints")
    return 1 if found or not count else 0


if __name__ == "__main__":
    sys.exit(main())
