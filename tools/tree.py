"""The files of the repository, and the frame that all checkers share."""

import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent


def files(root, folders=None, suffixes=None):
    """Files under `root` that belong to the project (tracked or not ignored), as relative paths.

    `folders` keeps those below the named top folders, `suffixes` those that end so.
    """
    listed = None
    if (root / ".git").exists():
        command = ["git", "-C", str(root), "ls-files", "-co", "--exclude-standard", "-z"]
        listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        names = [pathlib.PurePosixPath(name) for name in listed.split("\0") if name]
    else:
        names = [pathlib.PurePosixPath(path.relative_to(root).as_posix())
                 for path in root.rglob("*")]
    kept = []
    for name in sorted(set(names)):
        if folders is not None and name.parts[0] not in folders:
            continue
        if suffixes is not None and name.suffix not in suffixes:
            continue
        if (root / name).is_file():
            kept.append(name)
    return kept


def text_of(root, name):
    """Text of a file; None for binary ones."""
    data = (root / name).read_bytes()
    if b"\0" in data:
        return None
    return data.decode("utf-8", errors="replace")


def main(check, examples):
    """Runs `check(root) -> [complaint]` on the repository, or on the examples with --self-test.

    An example is (files, words): files maps names to texts; `words` must occur in the complaints,
    and an example with no words must give no complaint.
    """
    if sys.argv[1:] == ["--self-test"]:
        return self_test(check, examples)
    complaints = check(ROOT)
    for complaint in complaints:
        print(complaint)
    return 1 if complaints else 0


def self_test(check, examples):
    failures = 0
    for number, (content, words) in enumerate(examples):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for name, text in content.items():
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text(text)
            complaints = check(root)
        found = "\n".join(complaints)
        fine = all(word in found for word in words) if words else not complaints
        if not fine:
            failures += 1
            print(f"example {number}: expected {words or 'no complaint'}, found:\n{found}")
    print(f"{len(examples) - failures} of {len(examples)} examples as expected")
    return 1 if failures else 0
