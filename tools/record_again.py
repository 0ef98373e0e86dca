#!/usr/bin/env python3
"""Measures records of results/measurements again, by their commands in commands.json there: record_again.py [NAME...]

A NAME is a record's, or the beginning of several records' names; without one, all are measured. Each is run at scale desk
into build/records/REVISION/NAME and packed from there, samples with seven significant digits. A run that was interrupted
goes on with the same command; one that is complete is not repeated. Apart from records, the checkout must have no changes,
and the program must be of its revision.

Before anything is measured, each command is tried with --dry-run. A record whose models or data are not on this machine is
left as it is: what stands in for them would be measured under the record's name. So is a record that has methods or series
which this program leaves out, such as libtorch's operators.

Afterwards, tests/repository/documented_figures.py writes the numbers into the pages. Their sentences are yours to check.
"""
import argparse
import json
import pathlib
import re
import shlex
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
RECORDS = ROOT / "results" / "measurements"
# Of a sample: more than any clock here is good for.
SAMPLE_DIGITS = 7
# How `reprise run` says that it would measure something else than the experiment names.
STAND_IN = "What stands in for them runs."
LEFT_OUT = "left out: "


def output_of(*command):
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout


def clean_revision(program):
    """Returns the checkout's revision. Records that were measured before, at the same revision, are no changes."""
    if output_of("git", "status", "--porcelain", "--untracked-files=no", "--", ".",
                 f":!{RECORDS.relative_to(ROOT)}/*.gz"):
        raise SystemExit("the checkout has changes that no revision names; commit them first")
    revision = output_of("git", "rev-parse", "HEAD").strip()
    version = output_of(program, "--version")
    built = re.search(r"^revision +([0-9a-f]+)$", version, re.MULTILINE)
    if built is None or not revision.startswith(built[1]):
        raise SystemExit(f"{program} is not of revision {revision[:8]}; build it again. It says:\n{version}")
    return revision


def chosen(commands, names):
    for name in names:
        if not any(record.startswith(name) for record in commands):
            raise SystemExit(f"no record's name begins with {name}; there are: {', '.join(commands)}")
    return [record for record in commands if not names or any(record.startswith(name) for name in names)]


def obstacle(program, command):
    """Returns None, or why the command can't measure its record on this machine."""
    tried = subprocess.run([program, "run", *command, "--scale", "desk", "--dry-run"], cwd=ROOT, capture_output=True,
                           text=True, check=False)
    if tried.returncode != 0:
        return f"`reprise run {shlex.join(command)}` can't start: {tried.stderr.strip()[-400:]}"
    notes = [line for line in tried.stderr.splitlines() if STAND_IN in line or line.startswith(LEFT_OUT)]
    return f"left as it is: {' '.join(notes)}" if notes else None


def measure(program, record, command, folder):
    """Returns None, or what went wrong."""
    done = subprocess.run([program, "run", *command, "--scale", "desk", "--no-plot", "--out", folder], cwd=ROOT,
                          capture_output=True, text=True, check=False)
    if done.returncode != 0:
        return f"`reprise run {shlex.join(command)}` ended with {done.returncode}: {done.stderr.strip()[-400:]}"
    packed = subprocess.run([sys.executable, ROOT / "tools" / "pack_record.py", "--sample-digits", str(SAMPLE_DIGITS), folder,
                             RECORDS / f"{record}.jsonl.gz"], capture_output=True, text=True, check=False)
    return None if packed.returncode == 0 else packed.stderr.strip()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", type=pathlib.Path, default=ROOT / "build/release/bin/reprise")
    parser.add_argument("names", nargs="*", metavar="NAME")
    options = parser.parse_args()
    commands = json.loads((RECORDS / "commands.json").read_text(encoding="utf-8"))
    program = options.program.resolve()
    folder = ROOT / "build" / "records" / clean_revision(program)[:8]
    wanted = chosen(commands, options.names)
    obstacles = {record: found for record in wanted if (found := obstacle(program, commands[record])) is not None}
    for record, found in obstacles.items():
        print(f"{record}: {found}", flush=True)
    failed = len(obstacles)
    for record in wanted:
        if record in obstacles:
            continue
        began = time.monotonic()
        problem = measure(program, record, commands[record], folder / record)
        failed += problem is not None
        print(f"{record}: {problem or f'{(time.monotonic() - began) / 60:.1f} minutes'}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
