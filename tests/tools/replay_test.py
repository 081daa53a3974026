"""replay_test.py: tools/replay.py tells binaries apart that make other loops or other code, and calls equal ones equal."""

import pathlib
import stat
import subprocess
import sys
import tempfile

REPLAY = pathlib.Path(__file__).resolve().parents[2] / "tools/replay.py"


def binary(folder, name, loops, code):
    path = folder / name
    path.write_text(f"#!/bin/sh\necho '{loops}' >&2\necho '{code}'\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def replayed(*arguments):
    run = subprocess.run([sys.executable, REPLAY, "--only", "^gemm$", "--quick", *arguments], capture_output=True, text=True)
    return run.returncode, run.stdout


with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)
    plain = binary(folder, "plain", "for i", "add x0")
    code, said = replayed("--kawara", plain, "--before", binary(folder, "same", "for i", "add x0"))
    assert code == 0 and "0 changed" in said, said
    code, said = replayed("--kawara", plain, "--before", binary(folder, "code", "for i", "sub x0"))
    assert code == 1 and "gemm for cpu:neoverse-v1: other code" in said and "-sub x0" in said and "+add x0" in said, said
    code, said = replayed("--kawara", plain, "--before", binary(folder, "loops", "for j", "add x0"))
    assert code == 1 and "gemm for cuda:sm_90a: other loops" in said, said
    code, said = replayed("--kawara", plain, "--save", folder / "hashes.json")
    assert code == 0, said
    code, said = replayed("--kawara", binary(folder, "later", "for i", "sub x0"), "--compare", folder / "hashes.json")
    assert code == 1 and "5 changed" in said, said
