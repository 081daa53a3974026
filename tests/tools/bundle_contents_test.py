"""The check of a bundle's programs, on programs of this machine."""

import pathlib
import platform
import shutil
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))
import bundle_contents  # noqa: E402


def main():
    here = platform.machine()
    if here not in bundle_contents.MACHINES or not shutil.which("readelf"):
        print("no readelf, or another architecture")
        return 77
    other = next(arch for arch in bundle_contents.MACHINES if arch != here)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "notes.txt").write_text("not a program")
        assert bundle_contents.complaints(here, folder) == ([], 0)
        shutil.copy(sys.executable, folder / "program")
        found, count = bundle_contents.complaints(other, folder)
        assert count == 1
        assert any(f"not {other}" in line for line in found), found
        # What the program needs beyond the C library is missed until it is there.
        found, _ = bundle_contents.complaints(here, folder)
        assert all("which is not there" in line for line in found), found
        for line in found:
            shutil.copy(sys.executable, folder / line.split()[2].rstrip(","))
        assert bundle_contents.complaints(here, folder)[0] == []
    return 0


if __name__ == "__main__":
    sys.exit(main())
