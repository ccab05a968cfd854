"""What the comparisons of this folder share: readers as child processes, and seeds."""

import json
import os
import random
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
READER = os.path.join(os.path.abspath(sys.argv[1]) if len(sys.argv) > 1 else "build/dev/bin",
                      "interop_reader")
PATIENCE_S = 240  # It only ends a test that would hang.
SKIPPED = 77  # What CMake's SKIP_RETURN_CODE is told.


def need_node():
    """Returns node's path, or ends the test as skipped and says so."""
    path = shutil.which("node")
    if path is None:
        print("SKIPPED: node is not installed, so there is nothing to compare with")
        sys.exit(SKIPPED)
    return path


def seed_of_run():
    """SEED=N in the environment repeats a run or makes another; the tree's own seed is fixed."""
    seed = int(os.environ.get("SEED", "20250301"))
    print(f"seed {seed} (SEED=N sets another)", flush=True)
    return seed


def cases_of_run(count):
    """CASES=N in the environment makes a run longer."""
    return int(os.environ.get("CASES", str(count)))


def read_all(command, cases):
    """Gives every case to a reader and returns what it says about each."""
    lines = "".join(case.hex() + "\n" for case in cases)
    done = subprocess.run(command, input=lines, capture_output=True, text=True, check=False,
                          timeout=PATIENCE_S)
    said = [json.loads(line) for line in done.stdout.splitlines()]
    if done.returncode != 0 or len(said) != len(cases):
        at = cases[len(said)] if len(said) < len(cases) else b""
        raise RuntimeError(f"{command}: exit {done.returncode} after {len(said)} of {len(cases)} "
                           f"cases, at {at!r}: {done.stderr[-2000:]}")
    return said


def mutate(text, dice, alphabet):
    """A few small changes at random places."""
    out = bytearray(text)
    for _ in range(dice.choice((1, 1, 1, 2, 3))):
        at = dice.randrange(len(out) + 1)
        what = dice.randrange(6)
        if what == 0:
            out[at:at] = dice.choice(alphabet)
        elif what == 1:
            out[at:at + 1] = dice.choice(alphabet)
        elif what == 2:
            del out[at:at + dice.choice((1, 1, 1, 2, 5))]
        elif what == 3:
            out[at:at + 1] = bytes((dice.randrange(256),))
        elif what == 4:
            out[at:at] = out[at:at + dice.randrange(1, 20)]
        elif out and at < len(out):
            out[at] ^= 1 << dice.randrange(8)
    return bytes(out)


def dice_of(seed):
    return random.Random(seed)
