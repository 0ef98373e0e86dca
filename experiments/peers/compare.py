#!/usr/bin/env python3
"""Runs our benchmarks and PyTorch's in turn (A B A B ...) and prints the median of the ratios, pair by pair.

    python3 experiments/peers/compare.py --build build/release --peer-python V/bin/python --rounds 5 --out FILE
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess

# Name of the peer's benchmark -> our program and the pattern of our benchmark of the same shape.
PAIRS = {
    "causal_attention_h32_d128_n2048": ("attention_bench", "CausalPrefill/dtype:1/h:32/kv:32/d:128/n:2048"),
    "tinyllama_prefill_512": ("model_bench", "prefill/TinyLlama/512/"),
    "tinyllama_prefill_4096": ("model_bench", "prefill/TinyLlama/4096/"),
    "tinyllama_decode_64": ("model_bench", "decode/TinyLlama/64"),
}


def ours(build, names):
    """Returns the seconds of each of our benchmarks, one process per program, and the machine's limits measured
    there."""
    seconds, limits = {}, {}
    for program in {PAIRS[name][0] for name in names}:
        wanted = {PAIRS[name][1]: name for name in names if PAIRS[name][0] == program}
        output = subprocess.run([build / "bin" / program, "--benchmark_format=json",
                                 "--benchmark_filter=" + "|".join(wanted)],
                                check=True, capture_output=True, text=True).stdout
        report = json.loads(output[output.index("{"):])
        for row in report["benchmarks"]:
            for pattern, name in wanted.items():
                if row["name"].startswith(pattern):
                    seconds[name] = row["real_time"] * {"ms": 1e-3, "us": 1e-6, "ns": 1e-9, "s": 1.0}[row["time_unit"]]
        limits.update({k: float(v) for k, v in report["context"].items() if k.endswith(("gb_s", "gflop_s"))})
    return seconds, limits


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path("build/release"))
    parser.add_argument("--peer-python", required=True, help="a python with torch and transformers")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--out", type=pathlib.Path)
    args = parser.parse_args()
    here = pathlib.Path(__file__).parent
    threads = len(os.sched_getaffinity(0))  # as many as our benchmarks use
    rounds = []
    for _ in range(args.rounds):
        seconds, limits = ours(args.build, list(PAIRS))
        peer = json.loads(subprocess.run([args.peer_python, here / "torch_peers.py", "--threads", str(threads)], check=True,
                                         capture_output=True, text=True).stdout)
        rounds.append({"ours_s": seconds, "peer_s": peer, "limits": limits})
    summary = {}
    for name in PAIRS:
        ratios = sorted(r["peer_s"][name] / r["ours_s"][name] for r in rounds)
        summary[name] = {
            "ours_s": statistics.median(r["ours_s"][name] for r in rounds),
            "peer_s": statistics.median(r["peer_s"][name] for r in rounds),
            "times_faster": statistics.median(ratios), "lowest": ratios[0], "highest": ratios[-1]}
        print(f"{name:36s} ours {summary[name]['ours_s']:9.4f} s   peer {summary[name]['peer_s']:9.4f} s   "
              f"{summary[name]['times_faster']:.2f}x ({ratios[0]:.2f} to {ratios[-1]:.2f})")
    if args.out:
        args.out.write_text(json.dumps({"threads": threads, "summary": summary, "rounds": rounds}, indent=1) + "\n")


if __name__ == "__main__":
    main()
