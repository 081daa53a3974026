#!/usr/bin/env python3
"""Runs the stories under tests/, docs/lessons and docs/guides and compares what is printed.

    tools/run_golden.py [--update] [--kawara PATH] [--jobs N] [FILTER ...]

A filter is a piece of a story's path. --update writes what was printed into the story.
"""

import argparse
import concurrent.futures
import os
import pathlib
import platform
import shlex
import shutil
import subprocess
import sys
import tempfile

import story as stories
import tree

FOLDERS = ["tests/golden", "tests/errors", "tests/equal", "docs/lessons", "docs/guides"]
TIME_LIMIT_S = 120


def find(root, filters):
    found = []
    for folder in FOLDERS:
        suffix = "*.md" if folder.startswith("docs") else "*.kwt"
        found += sorted((root / folder).rglob(suffix))
    names = [path.relative_to(root).as_posix() for path in found if path.name != "README.md"]
    return [name for name in names if not filters or any(f in name for f in filters)]


def run_command(kawara, command, folder):
    """Lines that the command printed: standard output, then standard error, then the exit code."""
    words = shlex.split(command)
    if words[:1] == ["cat"]:
        return (folder / words[1]).read_text().splitlines()
    if words[:1] not in (["kawara"], ["./kw"]):
        raise stories.Malformed(f"only `kawara` and `cat` can be run, not `{command}`")
    # The folder of the story is where its tuned schedules are kept, and nobody else's are seen.
    environment = {**os.environ, "KAWARA_THREADS": "2", "LC_ALL": "C.UTF-8", "COLUMNS": "100",
                   "XDG_CACHE_HOME": str(folder / ".cache")}
    try:
        done = subprocess.run([kawara, *words[1:]], cwd=folder, env=environment,
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=TIME_LIMIT_S)
    except subprocess.TimeoutExpired:
        return [f"(no answer within {TIME_LIMIT_S} s)"]
    text = (done.stdout + done.stderr).decode("utf-8", errors="replace")
    lines = stories.without_blank_end(line.rstrip() for line in text.split("\n"))
    return lines + ([f"exit: {done.returncode}"] if done.returncode else [])


def write_inputs(root, story, folder):
    for name, text in story.inputs.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    for name, origin in story.origins.items():
        if not (root / origin).is_file():
            raise stories.Malformed(f"input {name} is to come from {origin}, which does not exist")
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(root / origin, folder / name)


def outputs_of(root, kawara, story):
    """Lines printed by each step. `{file}` in a command is the first input."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        write_inputs(root, story, folder)
        first = next(iter([*story.inputs, *story.origins]), "")
        return [[line for command in step.commands
                 for line in run_command(kawara, command.replace("{file}", first), folder)]
                for step in story.steps]


def run_equal(root, kawara, story):
    """Each input, under the same name, must make the commands print the same; "" when it does."""
    schedules = {name: text for name, text in story.inputs.items() if name.endswith(".sched")}
    programs = {name: text for name, text in story.inputs.items() if name not in schedules}
    if schedules and len(programs) != 1:
        raise stories.Malformed("schedules are compared on one program")
    compared = schedules or programs
    if len(compared) < 2:
        raise stories.Malformed("at least two inputs are needed to compare")
    seen = {}
    for name, text in compared.items():
        inputs = {"input.kw": next(iter(programs.values())), "input.sched": text} if schedules else {
            "input.kw": text}
        alone = stories.Story([], inputs, {}, story.steps)
        seen[name] = [line for lines in outputs_of(root, kawara, alone) for line in lines]
    (first, wanted), *others = seen.items()
    problems = [stories.difference(f"{first} against {other}", wanted, lines)
                for other, lines in others if lines != wanted]
    if any(line.startswith("exit: ") for line in wanted):
        problems.append(f"{first} is refused:\n" + "\n".join(wanted))
    return "\n".join(problems)


def run_story(root, kawara, name, update):
    """(state, detail) with state passed, failed, skipped or updated."""
    try:
        story = stories.parse(root / name)
        if not story.steps:
            if name.endswith(".md"):
                return "skipped", "no console block"
            return "failed", f"{name}: no `$ kawara` line"
        missing = [what for what in story.requires if what != platform.machine()]
        if missing:
            return "skipped", f"needs {', '.join(missing)}"
        if name.startswith("tests/equal/"):
            detail = run_equal(root, kawara, story)
            return ("failed", f"{name}\n{detail}") if detail else ("passed", "")
        outputs = outputs_of(root, kawara, story)
    except (stories.Malformed, OSError, ValueError) as problem:
        return "failed", f"{name}: {problem}"
    pairs = [(step.expected, output) for step, output in zip(story.steps, outputs)]
    if all(stories.agrees(*pair) for pair in pairs):
        return "passed", ""
    if update:
        kept = [expected if stories.agrees(expected, output) else output
                for expected, output in pairs]
        (root / name).write_text(story.with_outputs(kept), encoding="utf-8")
        return "updated", name
    return "failed", "\n".join(stories.difference(name, *pair) for pair in pairs
                               if not stories.agrees(*pair))


def run_all(root, kawara, filters, update=False, jobs=2, out=sys.stdout):
    """Counts by state. Failures are printed as they come, progress only on a terminal."""
    names = find(root, filters)
    counts = {"passed": 0, "failed": 0, "skipped": 0, "updated": 0}
    if not os.access(kawara, os.X_OK):
        counts["skipped"] = len(names)
        if names:
            print(f"{kawara} is not built: {len(names)} stories skipped", file=out)
        return counts
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        runs = pool.map(lambda name: run_story(root, kawara, name, update), names)
        for number, (name, (state, detail)) in enumerate(zip(names, runs), 1):
            counts[state] += 1
            if out.isatty():
                print(f"\r\x1b[K[{number}/{len(names)}] {name}", end="", file=out, flush=True)
            if state in ("failed", "updated"):
                print(f"{chr(13) + chr(27) + '[K' if out.isatty() else ''}{state}: {detail}\n", file=out)
    if out.isatty():
        print("\r\x1b[K", end="", file=out)
    return counts


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("filters", nargs="*", metavar="FILTER")
    parser.add_argument("--update", action="store_true")
    parser.add_argument("--kawara", default=str(tree.ROOT / "build/tools/kawara"))
    parser.add_argument("--jobs", type=int, default=2)
    arguments = parser.parse_intermixed_args()
    kawara = os.path.abspath(arguments.kawara)
    counts = run_all(tree.ROOT, kawara, arguments.filters, arguments.update, arguments.jobs)
    updated = f", {counts['updated']} updated" if arguments.update else ""
    print(f"{counts['passed']} passed, {counts['failed']} failed, {counts['skipped']} skipped{updated}")
    return 1 if counts["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
