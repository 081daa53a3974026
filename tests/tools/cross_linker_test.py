"""A build for another machine links programs, modules and libraries with lld: this machine's ld may know
no other architecture."""

import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
KINDS = ["EXE", "MODULE", "SHARED"]


def flags(toolchain):
    """The linker flags of each kind that the toolchain file sets."""
    with tempfile.TemporaryDirectory() as folder:
        script = pathlib.Path(folder) / "print.cmake"
        lines = [f"include({toolchain})"]
        lines += [f'message("{kind}=${{CMAKE_{kind}_LINKER_FLAGS_INIT}}")' for kind in KINDS]
        script.write_text("\n".join(lines) + "\n")
        done = subprocess.run(["cmake", "-P", str(script)], capture_output=True, text=True, check=True,
                              env=dict(os.environ, KW_SYSROOT=folder))
    return dict(line.split("=", 1) for line in done.stderr.splitlines() if "=" in line)


def main():
    found = flags(ROOT / "cmake" / "x86_64-cross.cmake")
    assert list(found) == KINDS, found
    for kind in KINDS:
        assert "-fuse-ld=lld" in found[kind].split(), f"{kind} is linked by this machine's ld: {found}"
    return 0


if __name__ == "__main__":
    sys.exit(main())
