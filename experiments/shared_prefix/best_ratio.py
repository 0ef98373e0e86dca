#!/usr/bin/env python3
"""Prints how far a method is behind the best one of each point, over several runs of one experiment.

    best_ratio.py [--method auto] [--least 0.97] [--out FILE.json] RUN...

RUN is a folder that `reprise run --out` wrote. A single run's ratio depends on the place of its caches in
memory, which moves two methods of one plan by some percent. Each run of the program places them anew, so a point
counts by the median over the runs. Prints the points below --least. Exit status: 0 none, 1 some, 2 an error.
"""
import argparse
import json
import pathlib
import statistics
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python"))
from reprise import record_reader  # noqa: E402  (in another folder of the tree)


def read_run(folder, method):
    """Returns best_ratio of the method at each point, named by its settings, and the machine and code of the run."""
    ratios, origin = {}, {}
    files = record_reader.record_files(folder)
    if not files:
        raise ValueError(f"{folder} holds no records.jsonl; give the folder that `reprise run --out` wrote")
    for file in files:
        for record in record_reader.read_records(file):
            requested = record["settings"]["requested"]
            if requested["method"] != method or "best_ratio" not in record["metrics"]:
                continue
            point = {key: value for key, value in requested.items() if key != "method"}
            ratios[json.dumps(point, sort_keys=True)] = record["metrics"]["best_ratio"]["value"]
            limits = record["machine"].get("limits", {})
            origin = {"revision": record["provenance"]["revision"], "dirty": record["provenance"]["dirty"],
                      "cpu": record["machine"]["cpu"], "dram_read_gb_s": limits.get("dram_read_gb_s")}
    if not ratios:
        raise ValueError(f"{folder}: no record has a best_ratio of method \"{method}\"; run an experiment of kind "
                         "\"attention\" with it")
    return ratios, origin


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", nargs="+", metavar="RUN")
    parser.add_argument("--method", default="auto")
    parser.add_argument("--least", type=float, default=0.97)
    parser.add_argument("--out", metavar="FILE.json")
    args = parser.parse_args()
    try:
        runs = [read_run(folder, args.method) for folder in args.runs]
    except (OSError, ValueError, KeyError) as error:
        print(f"best_ratio.py: {error}", file=sys.stderr)
        return 2
    everywhere = sorted(set.intersection(*(set(ratios) for ratios, _ in runs)))
    if not everywhere:
        print("best_ratio.py: the runs have no point in common; give runs of one experiment", file=sys.stderr)
        return 2
    axes = [json.loads(point) for point in everywhere]
    varying = sorted(key for key in axes[0] if any(point.get(key) != axes[0][key] for point in axes))
    points = []
    for name, point in zip(everywhere, axes):
        values = [ratios[name] for ratios, _ in runs]
        points.append({**{key: point[key] for key in varying}, "median": statistics.median(values), "runs": values})
    points.sort(key=lambda point: point["median"])
    behind = [point for point in points if point["median"] < args.least]
    for point in behind:
        print("  ".join(f"{key} {point[key]}" for key in varying), f" {point['median']:.3f}",
              "  of", " ".join(f"{value:.3f}" for value in point["runs"]))
    print(f"{len(behind)} of {len(points)} points below {args.least}, by the median of {len(runs)} runs")
    if args.out:
        summary = {"method": args.method, "least": args.least, "runs": [origin for _, origin in runs], "points": points}
        with open(args.out, "w", encoding="utf-8") as out:
            json.dump(summary, out, indent=1)
            out.write("\n")
    return 1 if behind else 0


if __name__ == "__main__":
    sys.exit(main())
