#!/usr/bin/env python3
"""Kills `kawara tune` again and again and looks at what is left.

    killed_test.py KAWARA [--times 100] [--seed 1]

After each kill every record that was there before must still be there, unchanged, and what was tried since
must have been added. At the end a search is let through, and its winner must compute what the program says.
"""

import argparse
import json
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import time

PROGRAM = """param N, D
input x: f32[N, D]
output y: f32[N]
y[i] = sum(j, x[i, j] * x[i, j])
"""
SIZES = ["-p", "N=31,D=97"]


def trials_of(kawara, database):
    """{directives: trial} of all that is known, and the winner."""
    done = subprocess.run([kawara, "db", "export", "--db", database], capture_output=True, text=True,
                          check=False)
    if done.returncode != 0:
        sys.exit(f"the database cannot be read: {done.stderr}")
    records = [json.loads(line) for line in done.stdout.splitlines()]
    trials = {t["directives"]: t for record in records for t in record["trials"]}
    if sum(len(record["trials"]) for record in records) != len(trials):
        sys.exit("a trial is there twice")
    return trials


def kill_one(kawara, program, database, chance, number):
    known = trials_of(kawara, database) if pathlib.Path(database).exists() else {}
    process = subprocess.Popen([kawara, "tune", program, *SIZES, "--db", database, "--budget", "1h",
                                "--seed", str(number)],
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    # Mostly while it measures; every fifth at any moment, the first ones included.
    if number % 5 != 0:
        deadline = time.time() + 300
        while time.time() < deadline and (not pathlib.Path(database).exists()
                                          or len(trials_of(kawara, database)) == len(known)):
            time.sleep(0.05)
    time.sleep(chance.random() * 0.5)
    process.send_signal(signal.SIGKILL)
    process.wait()
    if not pathlib.Path(database).exists():
        return 0
    left = trials_of(kawara, database)
    lost = [d for d, trial in known.items() if left.get(d) != trial]
    if lost:
        sys.exit(f"kill {number}: {len(lost)} of {len(known)} records lost or changed: {lost[0]}")
    if number % 5 != 0 and len(left) == len(known):
        sys.exit(f"kill {number}: the search did not go on")
    return len(left)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kawara")
    parser.add_argument("--times", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    chance = random.Random(arguments.seed)
    with tempfile.TemporaryDirectory() as folder:
        program, database = f"{folder}/sums.kw", f"{folder}/tune.db"
        pathlib.Path(program).write_text(PROGRAM, encoding="utf-8")
        count = 0
        for number in range(1, arguments.times + 1):
            count = kill_one(arguments.kawara, program, database, chance, number)
        final = subprocess.run([arguments.kawara, "tune", program, *SIZES, "--db", database,
                                "--budget", "16trials", "--json"], capture_output=True, check=False)
        result = json.loads(final.stdout)
        if not result["ok"] or len(trials_of(arguments.kawara, database)) < count:
            sys.exit("the last search did not go on where the others were killed")
        checked = subprocess.run([arguments.kawara, "run", program, *SIZES, "--db", database, "--check"],
                                 capture_output=True, text=True, check=False)
        if checked.returncode != 0:
            sys.exit(f"the winner is wrong: {checked.stdout}{checked.stderr}")
        print(f"killed {arguments.times} times: {count} records, none lost; winner "
              f"{'is right' if result['is_faster'] else 'is the default'}")


if __name__ == "__main__":
    main()
