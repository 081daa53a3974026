#!/usr/bin/env python3
"""Tunes a small model of the ONNX standard's and runs it with what was found.

    model_test.py KAWARA
"""

import json
import math
import pathlib
import subprocess
import sys
import tempfile

MODEL = pathlib.Path("/usr/share/libonnx-testdata/data/pytorch-converted/test_Conv2d/model.onnx")


def say(kawara, *arguments):
    done = subprocess.run([kawara, *arguments, "--json"], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{arguments} ended with {done.returncode}: {done.stdout}{done.stderr}")
    return json.loads(done.stdout)


def main():
    kawara = sys.argv[1]
    with tempfile.TemporaryDirectory() as folder:
        database = f"{folder}/tune.db"
        before = say(kawara, "run", str(MODEL), "--no-db")
        found = say(kawara, "tune", str(MODEL), "--budget", "40trials", "--db", database)
        trials = sum(task["trials"] for task in found["tasks"])
        if trials != 40 or found["programs"] < len(found["tasks"]):
            sys.exit(f"{trials} trials for {len(found['tasks'])} of {found['programs']} programs")
        after = say(kawara, "run", str(MODEL), "--db", database)
        for one, other in zip(before["outputs"], after["outputs"]):
            for value in ("min", "max", "mean"):
                if not math.isclose(one[value], other[value], rel_tol=1e-4, abs_tol=1e-5):
                    sys.exit(f"{value} of {one['name']} was {one[value]} and is {other[value]}")
        faster = sum(task["is_faster"] for task in found["tasks"])
        print(f"{len(found['tasks'])} tasks, {faster} of them faster, same results")


if __name__ == "__main__":
    main()
