#!/usr/bin/env python3
"""Counts how often `reprise check` errs on this machine when it compares a program with itself, and with a
candidate that is deliberately slower. The two kinds of check take turns in a random order.

    tests/checks/validate_check.py --out FILE.json [--bin BIN] [--runs 20] [-- options of reprise check]

Without options a check gets --budget 5, and --realtime if the system grants it. 20 checks of each kind
then take less than 12 minutes.
"""
import argparse
import collections
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time


def grants_realtime():
    try:
        return subprocess.run(["chrt", "-f", "2", "true"], capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        return False


def check(arguments, candidate, number):
    with tempfile.TemporaryDirectory() as folder:
        report_path = os.path.join(folder, "report.json")
        start = time.monotonic()
        done = subprocess.run(
            [arguments.reprise, "check", candidate, "--against", arguments.baseline, "--json", report_path,
             *arguments.options], capture_output=True, text=True, check=False)
        seconds = time.monotonic() - start
        if done.returncode not in (0, 1):
            sys.exit(f"check {number} ended with status {done.returncode}: {done.stderr}")
        with open(report_path, encoding="utf-8") as file:
            return done.returncode, seconds, json.load(file)


def median(samples):
    return statistics.median(samples) if samples else None


def found_text(benchmark):
    ratio = benchmark["time_ratio"]["value"]
    return f"{benchmark['verdict']} {'-' if ratio is None else format(ratio, '.3f')}"


def outcome(kind, status, seconds, report):
    return {
        "kind": kind,
        "exit_status": status,
        "seconds": round(seconds, 1),
        "started_at": report["started_at"],
        "seed": report["seeds"]["order"],
        "load_averages_before": report["load_averages_before"],
        "load_averages_after": report["load_averages_after"],
        "benchmarks": [{
            "benchmark": b["benchmark"].split("/", 1)[1],
            "verdict": b["verdict"],
            "time_ratio": b["time_ratio"],
            "noise_spread_log": b["noise"]["spread_log"],
            "rounds": b["rounds"],
            "process": b["process"],
            "limit": b["limit"],
            "medians": {side: {name: median(b[side][name]) for name in
                               ("times_s", "cpu_shares", "limit_shares")}
                        for side in ("baseline", "candidate")},
        } for b in report["benchmarks"]],
    }


def summary(runs):
    counts = {}
    for kind in ("same program", "slower program"):
        of_kind = [run for run in runs if run["kind"] == kind]
        verdicts = collections.Counter(b["verdict"] for run in of_kind for b in run["benchmarks"])
        counts[kind] = {
            "checks": len(of_kind),
            "exit_status_1": sum(run["exit_status"] == 1 for run in of_kind),
            "all_benchmarks_slower": sum(all(b["verdict"] == "slower" for b in run["benchmarks"])
                                         for run in of_kind),
            "verdicts": dict(verdicts),
        }
    return counts


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", default="build/release/bin", help="a build's folder of programs")
    parser.add_argument("--baseline", help="default: BIN/check_sample")
    parser.add_argument("--slower", help="default: BIN/check_slower_sample")
    parser.add_argument("--title", default="sample benchmarks, 10 % more work in the slower program")
    parser.add_argument("--runs", type=int, default=20, help="checks of each kind")
    parser.add_argument("--seed", type=int, default=1, help="of the order of the checks")
    parser.add_argument("--pause", type=float, default=0, help="seconds between checks, for other users")
    parser.add_argument("--out", required=True)
    parser.add_argument("options", nargs="*", help="after --: options of reprise check")
    arguments = parser.parse_args()
    arguments.reprise = os.path.join(arguments.bin, "reprise")
    arguments.baseline = arguments.baseline or os.path.join(arguments.bin, "check_sample")
    arguments.slower = arguments.slower or os.path.join(arguments.bin, "check_slower_sample")
    arguments.options = arguments.options or ["--budget", "5", *(["--realtime"] if grants_realtime() else [])]
    kinds = [("same program", arguments.baseline), ("slower program", arguments.slower)] * arguments.runs
    random.Random(arguments.seed).shuffle(kinds)
    runs, report = [], {}
    for number, (kind, candidate) in enumerate(kinds, 1):
        status, seconds, report = check(arguments, candidate, number)
        runs.append(outcome(kind, status, seconds, report))
        found = ", ".join(map(found_text, runs[-1]["benchmarks"]))
        print(f"[{number}/{len(kinds)}] {kind}: {found}; {seconds:.0f} s, load {os.getloadavg()[0]:.1f}", flush=True)
        record = {"title": arguments.title, "summary": summary(runs), "options": arguments.options,
                  "settings": report["settings"], "realtime": report["realtime"],
                  "seeds": {"order": arguments.seed}, "machine": report["machine"],
                  "provenance": report["provenance"], "runs": runs}
        with open(arguments.out, "w", encoding="utf-8") as file:
            json.dump(record, file, indent=1)
            file.write("\n")
        time.sleep(arguments.pause)
    print(json.dumps(summary(runs), indent=1))


if __name__ == "__main__":
    main()
