#!/usr/bin/env python3
"""busy_neighbour.py PROGRAM [--rounds N] [--out FILE]: measures how a busy machine changes our times, and whether they are marked.

Runs the shipped experiment alone and beside one busy loop per core, in turn, and compares the medians of each time.
Prints a line for each round; --out keeps everything as JSON. A time doubles if both programs get a fair share of the
cores. Fails if a time is more than 1.25 times the time alone and is not marked.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

TREE = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(TREE / "python"))
from reprise import record_reader  # noqa: E402  (in another folder of the tree)

METRICS = ("ttft_ms", "tpot_ms")
BENT = 1.25  # a neighbour that only shares frequency and caches changes times less


def records_of(program, folder):
    subprocess.run([program, "run", str(TREE / "experiments" / "quickstart.json"), "--out", str(folder)],
                   check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return {json.dumps(record["settings"]["requested"], sort_keys=True): record
            for record in record_reader.read_folder(folder)}


class BusyLoops:
    """Runs a busy loop on each core that this process may use, while the block lasts."""

    def __enter__(self):
        self.loops = [subprocess.Popen([sys.executable, "-c", f"import os\nos.sched_setaffinity(0, {{{core}}})\nwhile True: pass"])
                      for core in os.sched_getaffinity(0)]

    def __exit__(self, *_):
        for loop in self.loops:
            loop.kill()
            loop.wait()


def a_round(program):
    with tempfile.TemporaryDirectory() as folder:
        alone = records_of(program, pathlib.Path(folder) / "alone")
        with BusyLoops():
            beside = records_of(program, pathlib.Path(folder) / "beside")
    times = []
    for key, record in alone.items():
        for metric in METRICS:
            if metric in record["metrics"]:
                times.append({"settings": record["settings"]["requested"], "metric": metric,
                              "alone_ms": record["metrics"][metric]["value"],
                              "beside_ms": beside[key]["metrics"][metric]["value"],
                              "is_marked": "disturbed" in beside[key]["metrics"][metric],
                              "disturbed_samples": beside[key]["core_use"]["disturbed"],
                              "retaken_samples": beside[key]["core_use"]["retaken"]})
    ratios = [time["beside_ms"] / time["alone_ms"] for time in times]
    whole = sum(time["beside_ms"] for time in times) / sum(time["alone_ms"] for time in times)
    return {"times": times, "whole_ratio": whole, "median_ratio": statistics.median(ratios), "largest_ratio": max(ratios),
            "ratios": len(ratios), "ratios_above_2_5": sum(ratio > 2.5 for ratio in ratios),
            "undisturbed": sum(time["disturbed_samples"] == 0 for time in times),
            "unmarked": sum(not time["is_marked"] for time in times),
            "bent_unmarked": sum(not time["is_marked"] and ratio > BENT for time, ratio in zip(times, ratios))}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--out", type=pathlib.Path)
    options = parser.parse_args()
    program = options.program.resolve()
    rounds = []
    for number in range(1, options.rounds + 1):
        rounds.append(a_round(program))
        print(f"round {number}: {rounds[-1]['whole_ratio']:.2f} times alone in all; {rounds[-1]['ratios']} medians, "
              f"{rounds[-1]['median_ratio']:.2f} times in the median, "
              f"{rounds[-1]['largest_ratio']:.2f} at most, {rounds[-1]['ratios_above_2_5']} above 2.5, "
              f"{rounds[-1]['undisturbed']} undisturbed, {rounds[-1]['unmarked']} unmarked, "
              f"{rounds[-1]['bent_unmarked']} of these bent", flush=True)
    if options.out:
        version = subprocess.run([program, "--version"], check=True, capture_output=True, text=True).stdout.strip()
        options.out.write_text(json.dumps({"what": "tests/busy_neighbour.py: quickstart beside one busy loop per core",
                                           "program": version, "cores": len(os.sched_getaffinity(0)), "kernel": os.uname().release,
                                           "rounds": rounds}, indent=1) + "\n", encoding="utf-8")
    return 1 if any(one["bent_unmarked"] for one in rounds) else 0


if __name__ == "__main__":
    sys.exit(main())
