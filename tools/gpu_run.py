#!/usr/bin/env python3
"""Builds, tests and measures on a GPU machine, in stages, and leaves records: gpu_run.py OUT [STAGE...]

Stages: 1 smoke and correctness, 2 kernels, 3 the papers' tables, 4 whole models, 5 checkers of memory and races, 6 choices
that only a device can make; all by default. Programs are built first, once. tools/gpu_stages.py lists each stage's steps and
time limits. A stage that fails or runs out of time leaves its log and the next one runs; without a build or a device no
other stage can run. With --go-on, steps that passed in an earlier run into OUT, at the same revision, are not repeated,
except those that build. Stages of that run that are not run again stay in summary.json; if one failed, this run has not passed.

OUT gets summary.json, log.txt (what every step printed, shortened) and STAGE.jsonl with the records of each stage, one per
line with the step that made it. They are written as the stages proceed. The libraries come from the pack that
tools/gpu_pack.sh makes on a machine with a network. Exit status: 0 if all passed.
"""
import argparse
import hashlib
import importlib.util
import json
import os
import pathlib
import shlex
import shutil
import signal
import subprocess
import sys
import time

import gpu_stages

TREE = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(TREE / "python"))
from reprise import record_reader  # noqa: E402  (in another folder of the tree)

STAGES = ["1", "2", "3", "4", "5", "6"]   # besides the build
MOST_LOG_BYTES = 256 << 10   # of a step: its beginning and its end


def killed(process):
    """Kills a step and every process it started."""
    os.killpg(process.pid, signal.SIGTERM)
    try:
        process.wait(timeout=10)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def run_command(command, log, limit_s):
    """Runs a command and returns its exit status, or None if it took longer than `limit_s`. Its output goes to the file `log`."""
    log.unlink(missing_ok=True)   # left by a run that was cut
    with open(log, "ab") as out:   # appends, because a command may open its /dev/stderr anew
        try:
            process = subprocess.Popen([str(word) for word in command], stdin=subprocess.DEVNULL, stdout=out,
                                       stderr=subprocess.STDOUT, start_new_session=True, cwd=TREE)
        except OSError as error:
            out.write(f"{command[0]} cannot be started: {error}\n".encode())
            return 127
        try:
            return process.wait(timeout=limit_s)
        except subprocess.TimeoutExpired:
            killed(process)
            return None


def shortened(data):
    if len(data) <= MOST_LOG_BYTES:
        return data
    head, tail = MOST_LOG_BYTES // 4, MOST_LOG_BYTES * 3 // 4
    return data[:head] + f"\n[... {len(data) - head - tail} bytes left out ...]\n".encode() + data[-tail:]


def records_of(path):
    """Returns the records in a file, whole: one per line in .jsonl, else one for the whole file. Raises ValueError."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".jsonl":
        return record_reader.whole_records(record_reader.lines_of(text), path)
    return [json.loads(text)]


class Run:
    """Runs stages and writes OUT. If `goes_on`, keeps what passed in an earlier run with the same facts, and the lines of
    stages that are not run again."""

    def __init__(self, out, facts, goes_on=False):
        self.out = out
        self.out.mkdir(parents=True, exist_ok=True)
        before = self.stages_before(facts) if goes_on else []
        self.passed = {(stage["stage"], step["step"]): step for stage in before for step in stage["steps"]
                       if step["state"] == "passed"}
        self.summary = {**facts, "passed": False, "stages": before}
        self.forget_other_stages(before)
        self.log = open(out / "log.txt", "ab" if before else "wb")
        self.hopeless = None   # the reason why no further step can run

    def stages_before(self, facts):
        """Returns the stages' lines of an earlier run's summary; none if it had other facts."""
        try:
            summary = json.loads((self.out / "summary.json").read_text(encoding="utf-8"))
        except FileNotFoundError:
            return []
        return summary["stages"] if all(summary.get(key) == value for key, value in facts.items()) else []

    def forget_other_stages(self, before):
        """Removes the records of stages of which the summary has no line: they are of an earlier run."""
        for stage in set(STAGES) - {line["stage"] for line in before}:
            (self.out / f"{stage}.jsonl").unlink(missing_ok=True)

    def save(self):
        part = self.out / "summary.json.part"
        part.write_text(json.dumps(self.summary, indent=1) + "\n", encoding="utf-8")
        part.replace(self.out / "summary.json")

    def keep_records(self, stage, step):
        """Appends the records to the stage's file and returns their number. A missing or invalid file makes the step fail."""
        records = records_of(step.records)
        with open(self.out / f"{stage.key}.jsonl", "a", encoding="utf-8") as file:
            for record in records:
                file.write(json.dumps({"step": step.name, "record": record}) + "\n")
        return len(records)

    def forget_records(self, stage):
        """Removes the records of an earlier run from the stage's file, but not those of steps that are kept."""
        path = self.out / f"{stage.key}.jsonl"
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        kept = [line for line in lines if (stage.key, json.loads(line)["step"]) in self.passed]
        if kept:
            path.write_text("".join(line + "\n" for line in kept), encoding="utf-8")
        else:
            path.unlink(missing_ok=True)

    def outcome(self, stage, step, limit_s):
        """Returns the step's line of the summary."""
        result = {"step": step.name, "command": shlex.join(str(word) for word in step.command)}
        log = self.out / "log.txt.step"
        start = time.monotonic()
        if step.records:
            step.records.unlink(missing_ok=True)   # left by an earlier run
        status = run_command(step.command, log, limit_s)
        result.update(wall_s=round(time.monotonic() - start, 2), status=status)
        if status is None:
            result.update(state="out of time", why=f"stopped after {limit_s:.0f} s")
        elif status not in step.accepted:
            result.update(state="failed", why=f"ended with status {status}")
        else:
            result.update(state="passed")
        if step.records:
            try:
                result["records"] = self.keep_records(stage, step)
            except (OSError, ValueError) as error:
                if result["state"] == "passed":
                    result.update(state="failed", why=f"no records: {error}")
        self.log.write(f"==== {stage.key} {step.name}: {result['state']} in {result['wall_s']} s\n"
                       f"==== {result['command']}\n".encode() + shortened(log.read_bytes()) + b"\n")
        self.log.flush()
        log.unlink()
        return result

    @staticmethod
    def missing(step):
        """Returns what the step needs and this machine lacks, or None."""
        if step.needs and not shutil.which(step.needs):
            return step.needs
        if step.needs_module and importlib.util.find_spec(step.needs_module) is None:
            return f"Python module {step.needs_module}"
        return None

    def stage(self, stage):
        print(f"stage {stage.key}: {stage.title} ({stage.budget_s:.0f} s)", flush=True)
        line = {"stage": stage.key, "title": stage.title, "budget_s": stage.budget_s, "state": "passed", "steps": []}
        lines = self.summary["stages"]
        place = next((i for i, other in enumerate(lines) if other["stage"] == stage.key), len(lines))
        lines[place:place + 1] = [line]
        self.forget_records(stage)
        start = time.monotonic()
        for step in stage.steps:
            left_s = stage.budget_s - (time.monotonic() - start)
            if not step.builds and (stage.key, step.name) in self.passed:
                result = self.passed[stage.key, step.name]
            elif self.hopeless or left_s < 1:
                result = {"step": step.name, "state": "not run", "why": self.hopeless or "the stage's time is used up"}
            elif missing := self.missing(step):
                result = {"step": step.name, "state": "left out", "why": f"there is no {missing} here"}
            else:
                result = self.outcome(stage, step, min(left_s, step.most_s or left_s))
            line["steps"].append(result)
            if result["state"] not in ("passed", "left out"):
                line["state"] = "failed"
                if step.needed_by_all and not self.hopeless:
                    self.hopeless = f"{stage.key} {step.name} {result['state']}"
            print(f"  {step.name}: {result['state']}{', ' + result['why'] if 'why' in result else ''}", flush=True)
            line["wall_s"] = round(time.monotonic() - start, 2)
            self.save()

    def finish(self):
        self.summary["passed"] = all(stage["state"] == "passed" for stage in self.summary["stages"])
        self.save()
        self.log.close()
        return 0 if self.summary["passed"] else 1


def revision_of(pack):
    """Returns the packed revision, with a + if the tree's files differ from those of the pack."""
    def packed(name):   # by tar itself, which reads what this Python may not: zstd
        result = subprocess.run(["tar", "-xOf", pack, name], capture_output=True, text=True)
        if result.returncode != 0:
            sys.exit(f"{pack} is no pack of tools/gpu_pack.sh: {result.stderr.strip()}")
        return result.stdout
    words = packed("./revision").split()
    differs = len(words) > 1
    for line in packed("./tree.sha256").splitlines():
        digest, name = line.split("  ", 1)
        path = TREE / name
        if not path.is_file() or hashlib.sha256(path.read_bytes()).hexdigest() != digest:
            print(f"{name} is not as it was when the pack was made", file=sys.stderr)
            differs = True
            break
    return words[0] + ("+" if differs else "")


def parse(arguments):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("stages", nargs="*", help="of 1 2 3 4 5 6; by default all")
    parser.add_argument("--pack", type=pathlib.Path, default=TREE / "out/gpu_pack.tar.gz")
    parser.add_argument("--build", type=pathlib.Path, default=TREE / "build/gpu", help="where to build")
    parser.add_argument("--arch", help="CMAKE_CUDA_ARCHITECTURES; by default the devices' own")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--go-on", action="store_true", help="keep the steps that passed in an earlier run into OUT")
    parser.add_argument("--patience", type=float, default=1, help="times the stages' budgets, for slower machines")
    options = parser.parse_args(arguments)
    unknown = sorted(set(options.stages) - set(STAGES))
    if unknown:
        parser.error(f"there is no stage {unknown[0]}: {', '.join(STAGES)} are")
    if not options.pack.is_file():
        parser.error(f"there is no pack {options.pack}: make it with tools/gpu_pack.sh where there is a network, and "
                     "carry it along or name it with --pack")
    options.stages = options.stages or STAGES
    return options


def main():
    options = parse(sys.argv[1:])
    toolkit = pathlib.Path("/usr/local/cuda/bin")
    if toolkit.is_dir():
        os.environ["PATH"] += os.pathsep + str(toolkit)
    options.arch = options.arch or gpu_stages.architectures()
    options.revision = revision_of(options.pack)
    run = Run(options.out.resolve(), {"revision": options.revision, "arch": options.arch}, options.go_on)
    for stage in gpu_stages.all_stages(TREE, options.build.resolve(), options.pack.resolve(), options):
        if stage.key in ["build", *options.stages]:
            run.stage(gpu_stages.with_patience(stage, options.patience))
    sys.exit(run.finish())


if __name__ == "__main__":
    main()
