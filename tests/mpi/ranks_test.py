#!/usr/bin/env python3
"""Searches over several ranks: bad candidates, a slow rank, and a job that is killed.

    ranks_test.py RANKS_PROGRAM MPIRUN
"""

import os
import random
import signal
import subprocess
import sys
import tempfile
import time

PROGRAM, MPIRUN = sys.argv[1:3]
COMMAND = [MPIRUN, "--allow-run-as-root", "--oversubscribe", "-n", "3", PROGRAM]
ENVIRONMENT = {**os.environ, "OMPI_MCA_btl_vader_single_copy_mechanism": "none",
               "OMPI_MCA_plm_rsh_agent": "false", "KAWARA_THREADS": "2"}


def run(*arguments):
    done = subprocess.run(COMMAND + list(arguments), env=ENVIRONMENT, capture_output=True, text=True,
                          timeout=120, check=False)
    if done.returncode != 0:
        sys.exit(f"{arguments} ended with {done.returncode}:\n{done.stdout}\n{done.stderr}")
    print(done.stdout, end="")


def trials_in(database):
    done = subprocess.run([PROGRAM, database], env=ENVIRONMENT, capture_output=True, text=True,
                          check=False)
    if done.returncode != 0:
        sys.exit(f"a trial is not what it should be: {done.stdout}{done.stderr}")
    return int(done.stdout)


def kill_everything(process):
    """As when a machine fails: mpirun and all that it started."""
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def main():
    with tempfile.TemporaryDirectory() as folder:
        run(f"{folder}/plain.db", "100")
        run(f"{folder}/slow.db", "100", "2")
        database = f"{folder}/killed.db"
        known = 0
        chance = random.Random(7)
        for _ in range(3):
            process = subprocess.Popen(COMMAND + [database, "100000"], env=ENVIRONMENT,
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                       start_new_session=True)
            # Until something new is there, and then somewhere in the middle of it.
            before, deadline = known, time.time() + 60
            while known == before and time.time() < deadline and process.poll() is None:
                time.sleep(0.2)
                known = trials_in(database) if os.path.exists(database) else 0
            time.sleep(chance.random() * 0.3)
            kill_everything(process)
            after = trials_in(database)
            if not after >= known > before:
                sys.exit(f"{before} trials before, {known} seen, {after} after the job was killed")
            known = after
            print(f"killed: {known} trials")
        run(database, "30")
        if trials_in(database) < known + 30:
            sys.exit("the next job did not go on where the others were killed")


if __name__ == "__main__":
    main()
