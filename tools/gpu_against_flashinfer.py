#!/usr/bin/env python3
"""Times our attention against FlashInfer's on the same device and shapes: gpu_against_flashinfer.py BENCH PEER OUT.jsonl

BENCH is cuda_attention_bench. PEER is a program that runs FlashInfer's kernels over blocks of 16 tokens in random order and
prints JSON lines: first its version and device ("flashinfer", "commit", "gpu"), then one line for each kernel and shape
("name", "path", "heads", "kv_heads", "rows", "shared", "own", "us"; "head_dim" if it is not 128; "failed" in place of "us" if
its result is wrong). docs/gpu_results.md says what it has to call. The two run in turn, five rounds. Both time with events,
with none of the data in L2. OUT has one line per shape: every round's microseconds, the medians, and the ratio of ours to
FlashInfer's fastest kernel. A kernel that is wrong in any round is left out.
"""
import argparse
import dataclasses
import json
import pathlib
import statistics
import sys

from gpu_against_torch import ROUNDS, in_every_round, our_us, run_bench, shape_of


def key_of(shape):
    return (shape.heads, shape.kv_heads, shape.head_dim, shape.rows, shape.shared, shape.own)


def their_us(lines):
    """Returns the version's line, and the microseconds of each kernel by shape, from PEER's output. Wrong kernels are named
    on stderr and left out."""
    version, *runs = [json.loads(line) for line in lines.splitlines() if line.startswith("{")]
    times = {}
    for run in runs:
        if "us" not in run:
            print(f"FlashInfer's {run['path']} of {run['name']}: {run['failed']}", file=sys.stderr)
            continue
        shape = (run["heads"], run["kv_heads"], run.get("head_dim", 128), run["rows"], run["shared"], run["own"])
        times.setdefault(shape, {})[run["path"]] = run["us"]
    return version, times


def record_of(name, version, ours, theirs):
    """Returns a line of OUT. For each round, `ours` has our microseconds and `theirs` {kernel: microseconds}."""
    medians = {path: statistics.median(one[path] for one in theirs) for path in theirs[0]}
    fastest = min(medians, key=medians.get)
    return {"name": name, "shape": dataclasses.asdict(shape_of(name)), "flashinfer_version": version["flashinfer"],
            "flashinfer_commit": version["commit"], "device": version["gpu"], "ours_us": ours,
            "flashinfer_us": {path: [one[path] for one in theirs] for path in medians},
            "ours_median_us": statistics.median(ours), "flashinfer_median_us": medians, "flashinfer_fastest": fastest,
            "ratio": statistics.median(ours) / medians[fastest]}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("bench", type=pathlib.Path)
    parser.add_argument("peer", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    options = parser.parse_args()
    names = [name for name in run_bench(options.bench, "--benchmark_list_tests").split() if shape_of(name)]
    ours, theirs, version = [], [], {}
    for _ in range(ROUNDS):
        ours.append(our_us(options.bench, names))
        version, times = their_us(run_bench(options.peer))
        theirs.append(times)
    with open(options.out, "w", encoding="utf-8") as file:
        for name in names:
            shape = key_of(shape_of(name))
            rounds = in_every_round([one.get(shape, {}) for one in theirs])
            if not rounds[0]:
                continue   # FlashInfer was not run for it, or no kernel was right in every round
            record = record_of(name, version, [one[name] for one in ours], rounds)
            file.write(json.dumps(record) + "\n")
            print(f"{name}: {record['ours_median_us']:.1f} us, FlashInfer {record['flashinfer_fastest']} "
                  f"{record['flashinfer_median_us'][record['flashinfer_fastest']]:.1f} us, ratio {record['ratio']:.3f}")


if __name__ == "__main__":
    main()
