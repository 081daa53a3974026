#!/usr/bin/env python3
"""Runs the stories under tests/, docs/lessons and docs/guides and compares what is printed.

    tools/run_golden.py [--update] [--kawara PATH] [--jobs N] [FILTER ...]
    tools/run_golden.py --silence 2 hour

A filter is a piece of a story's path. --update writes what was printed into the story. --silence
lists commands that print nothing for so many seconds on a terminal.
"""

import argparse
import concurrent.futures
import os
import pathlib
import platform
import pty
import re
import select
import shlex
import shutil
import subprocess
import sys
import tempfile
import time

import story as stories
import tree

FOLDERS = ["tests/golden", "tests/errors", "tests/equal", "tests/hour", "docs/lessons", "docs/guides"]
TIME_LIMIT_S = 120
SETTING = re.compile(r"[A-Z_]+=.*")  # of the environment, before a command


def find(root, filters):
    found = []
    for folder in FOLDERS:
        suffix = "*.md" if folder.startswith("docs") else "*.kwt"
        found += sorted((root / folder).rglob(suffix))
    names = [path.relative_to(root).as_posix() for path in found if path.name != "README.md"]
    return [name for name in names if not filters or any(f in name for f in filters)]


def words_and_environment(kawara, command, folder):
    words = shlex.split(command)
    own = {}
    while words and SETTING.fullmatch(words[0]):
        name, value = words.pop(0).split("=", 1)
        own[name] = value
    if words[:1] not in (["kawara"], ["./kw"]):
        raise stories.Malformed(f"only `kawara` and `cat` can be run, not `{command}`")
    # The folder of the story is where its tuned schedules are kept, and nobody else's are seen.
    environment = {**os.environ, "KAWARA_THREADS": "2", "LC_ALL": "C.UTF-8", "COLUMNS": "100",
                   "XDG_CACHE_HOME": str(folder / ".cache"), **own}
    return [kawara, *words[1:]], environment


def run_command(kawara, command, folder):
    """Lines that the command printed: standard output, then standard error, then the exit code."""
    if command.startswith("cat "):
        return (folder / shlex.split(command)[1]).read_text().splitlines()
    words, environment = words_and_environment(kawara, command, folder)
    try:
        done = subprocess.run(words, cwd=folder, env=environment,
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=TIME_LIMIT_S)
    except subprocess.TimeoutExpired:
        return [f"(no answer within {TIME_LIMIT_S} s)"]
    text = (done.stdout + done.stderr).decode("utf-8", errors="replace")
    lines = stories.without_blank_end(line.rstrip() for line in text.split("\n"))
    return lines + ([f"exit: {done.returncode}"] if done.returncode else [])


def longest_silence(kawara, command, folder):
    """Seconds that a user at a terminal waits without a word."""
    if command.startswith("cat "):
        return 0.0
    words, environment = words_and_environment(kawara, command, folder)
    ours, theirs = pty.openpty()
    started = time.monotonic()
    with subprocess.Popen(words, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=theirs,
                          stderr=theirs) as process:
        os.close(theirs)
        longest, last = 0.0, started
        while time.monotonic() - started < TIME_LIMIT_S:
            try:
                is_over = not select.select([ours], [], [], 1)[0] or not os.read(ours, 65536)
            except OSError:  # what the other end does to a terminal when it ends
                is_over = True
            now = time.monotonic()
            if is_over and process.poll() is None:
                continue
            longest, last = max(longest, now - last), now
            if is_over:
                break
        else:  # no answer at all
            process.kill()
            longest = max(longest, time.monotonic() - last)
    os.close(ours)
    return longest


def silences(root, kawara, story):
    """Of each command of the story, one after the other in a fresh folder."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        write_inputs(root, story, folder)
        first = first_input(story)
        return [longest_silence(kawara, command.replace("{file}", first), folder)
                for step in story.steps for command in step.commands]


def silent_commands(root, kawara, name, seconds):
    """(silence, command) of those that let a user wait longer, in three runs of the story: the machine may have been busy in one.
    Each begins anew, because a second run finds kept kernels and figures and waits for nothing."""
    story = stories.parse(root / name)
    least = silences(root, kawara, story)
    for _ in range(2):
        if max(least, default=0) > seconds:
            least = [min(pair) for pair in zip(least, silences(root, kawara, story))]
    commands = [command for step in story.steps for command in step.commands]
    return [(silence, command) for silence, command in zip(least, commands) if silence > seconds]


def run_silence(root, kawara, filters, seconds, out=sys.stdout):
    """0 when no command of the stories is silent for longer."""
    found = [(name, *each) for name in find(root, filters)
             for each in silent_commands(root, kawara, name, seconds)]
    for name, silence, command in found:
        print(f"{name}: {silence:.1f} s without a word: {command}", file=out)
    print(f"{len(found)} commands are silent for more than {seconds:g} s", file=out)
    return 1 if found else 0


def write_inputs(root, story, folder):
    for name, text in story.inputs.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(text if isinstance(text, bytes) else text.encode("utf-8"))
    for name, origin in story.origins.items():
        if not (root / origin).is_file():
            raise stories.Malformed(f"input {name} is to come from {origin}, which does not exist")
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(root / origin, folder / name)


def first_input(story):
    """The file that `{file}` in a command stands for."""
    return next(iter([*story.inputs, *story.origins]), "")


def outputs_of(root, kawara, story):
    """Lines printed by each step. `{file}` in a command is the first input."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        write_inputs(root, story, folder)
        first = first_input(story)
        shown = stories.without_figures if story.is_measured() else str
        return [[shown(line) for command in step.commands
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


def run_all(root, kawara, filters, update=False, jobs=2, out=sys.stdout, seconds=None):
    """Counts by state. Failures are printed as they come, progress only on a terminal. `seconds` takes the time of each."""
    names = find(root, filters)
    counts = {"passed": 0, "failed": 0, "skipped": 0, "updated": 0}
    if not os.access(kawara, os.X_OK):
        counts["skipped"] = len(names)
        if names:
            print(f"{kawara} is not built: {len(names)} stories skipped", file=out)
        return counts

    def timed(name):
        started = time.monotonic()
        ended = run_story(root, kawara, name, update)
        if seconds is not None:
            seconds[name] = time.monotonic() - started
        return ended

    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        runs = pool.map(timed, names)
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
    parser.add_argument("--silence", type=float, metavar="SECONDS",
                        help="run on a terminal, and list commands that print nothing for longer")
    arguments = parser.parse_intermixed_args()
    kawara = os.path.abspath(arguments.kawara)
    if arguments.silence is not None:
        return run_silence(tree.ROOT, kawara, arguments.filters, arguments.silence)
    counts = run_all(tree.ROOT, kawara, arguments.filters, arguments.update, arguments.jobs)
    updated = f", {counts['updated']} updated" if arguments.update else ""
    print(f"{counts['passed']} passed, {counts['failed']} failed, {counts['skipped']} skipped{updated}")
    return 1 if counts["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
