#!/usr/bin/env python3
"""run_node.py TESTS..., run_node.py --program PROGRAM ARGUMENTS...: runs tests of the page's modules with node; skipped, in one line, where there is no node of version 18 or newer."""

import pathlib
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
SKIPPED = 77
OLDEST = 18


def node():
    """The path of a node that has a test runner, or why there is none."""
    path = shutil.which("node")
    if path is None:
        return None, "there is no node"
    version = subprocess.run([path, "--version"], capture_output=True, text=True).stdout.strip()
    if int(version.lstrip("v").split(".")[0] or 0) < OLDEST:
        return None, f"node is {version}, older than {OLDEST}"
    return path, ""


def main():
    path, why = node()
    if path is None:
        print(f"skipped: {why}")
        return SKIPPED
    if sys.argv[1] == "--program":
        return subprocess.run([path, str(HERE / sys.argv[2]), *sys.argv[3:]]).returncode
    return subprocess.run([path, "--test", *(str(HERE / name) for name in sys.argv[1:])]).returncode


if __name__ == "__main__":
    sys.exit(main())
