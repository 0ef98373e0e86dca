"""Makes results folders with made-up numbers, for content that quick runs do not have: request rates, verdicts, hostile
names."""
import json
import math
import os
import pathlib
import random
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "python"))
from reprise import record_reader  # noqa: E402  (in another folder of the tree)

SEED = 20261122


def metric(samples, unit, **more):
    """Returns a metric in the form of records: median, quartiles, range and tail of the samples."""
    those = sorted(samples)

    def quantile(share):  # linear between neighbours, as results/statistics.h says
        place = share * (len(those) - 1)
        low = those[math.floor(place)]
        return low + (place - math.floor(place)) * (those[math.ceil(place)] - low)
    found = {"value": quantile(0.5), "unit": unit, "count": len(those), "min": those[0], "max": those[-1],
             "q1": quantile(0.25), "q3": quantile(0.75), "iqr": quantile(0.75) - quantile(0.25)}
    return found | more


def record(point, index, of, requested, metrics, samples=None, **more):
    made = {"schema": 1, "experiment": {"name": "made", "kind": "serving", "paper": "", "figure": "", "scale": "desk"},
            "point": point, "group": {"id": "", "index": index, "of": of}, "config_hash": "0" * 16,
            "settings": {"requested": {"dtype": "f32", "threads": 2, "isa": "avx2", "repetitions": 1} | requested,
                         "resolved": {}},
            "seeds": {"prompts": 1, "arrivals": 1}, "samples": samples or {}, "metrics": metrics, "answers": {},
            "memory": {}, "remarks": [],
            "machine": {"cpu": "made up", "logical_cores": 2, "limits": {"dram_read_gb_s": 20.0}},
            "provenance": {"revision": "0123456789abcdef", "dirty": False, "compiler": "none", "flags": ""},
            "started_at": "2026-11-22T00:00:00.000Z", "ended_at": "2026-11-22T00:00:01.000Z"}
    return made | more


def manifest(axes, methods, metrics, **more):
    settings = {"name": "made", "kind": "serving", "scale": "desk", "dtypes": ["f32"], "axes": axes,
                "methods": [{"name": name} for name in methods]}
    return {"config_hash": "0" * 16, "settings": settings, "metrics": metrics, "plots": [],
            "caption": {"title": "Made up"}, "axis_units": {"rate_rps": "1/s"}} | more


def group_id(points):
    """Returns the id of a group of these points: the FNV-1a hash of their JSON."""
    state = 0xcbf29ce484222325
    for byte in json.dumps(points, separators=(",", ":")).encode():
        state = (state ^ byte) * 0x100000001b3 % 2**64
    return f"{state:016x}"


def write_folder(path, run, those):
    os.makedirs(path, exist_ok=True)
    for i, one in enumerate(those):
        first = i - one["group"]["index"]
        one["group"]["id"] = group_id([other["point"] for other in those[first:first + one["group"]["of"]]])
    with open(os.path.join(path, "run.json"), "w", encoding="utf-8") as file:
        json.dump(run, file)
    with open(os.path.join(path, "records.jsonl"), "w", encoding="utf-8") as file:
        file.writelines(json.dumps(one) + "\n" for one in those)
    return path


def read_folder(path):
    with open(os.path.join(path, "run.json"), encoding="utf-8") as file:
        run = json.load(file)
    return run, record_reader.read_folder(path)


RATES = [1.0, 2.0, 4.0, 8.0]
# For each method, the time to first token in milliseconds without a queue, and the highest rate it can serve.
SERVERS = {"paged": (80.0, 3.0), "relay_attention": (50.0, 9.0)}


def serving_point(rate, index, method, draw, slower):
    """Makes a point of a server with a queue: latency grows as the rate approaches the highest one, and beyond it the run
    is INVALID."""
    base_ms, bears = SERVERS[method]
    load = min(rate / bears, 0.95)
    ttft_ms = [slower * base_ms / (1 - load) * draw.lognormvariate(0, 0.3) for _ in range(400)]
    normalised_s = [value / 1000 / 8 for value in ttft_ms]

    def tail(samples):
        return sorted(samples)[round(0.99 * (len(samples) - 1))]
    metrics = {"ttft_ms": metric(ttft_ms, "ms", p99=tail(ttft_ms), too_few_for=["p99.9"], population=True,
                                 intervals={"p99": {"low": tail(ttft_ms) * 0.9, "high": tail(ttft_ms) * 1.1}}),
               "normalised_latency_s": metric(normalised_s, "s/token", p99=tail(normalised_s), population=True),
               "throughput_rps": {"value": min(rate, bears), "unit": "1/s"}, "peak_kv_mb": {"value": 40.0, "unit": "MB"}}
    made = record(f"{rate}/{method}", index, len(SERVERS), {"rate_rps": rate, "method": method}, metrics,
                  {"ttft_ms": ttft_ms})
    is_valid = rate <= bears
    made["answers"] = {"verdict": "VALID" if is_valid else "INVALID",
                       "reasons": [] if is_valid else ["the queue only grew"], "generated_tokens": 3200}
    return made


def serving_folder(path, slower=1.0, rates=RATES, seed=SEED):
    """Makes a folder of two methods at several rates; `slower` multiplies all times."""
    draw = random.Random(seed)
    points = [serving_point(rate, index, method, draw, slower) for rate in rates
              for index, method in enumerate(SERVERS)]
    run = manifest({"rate_rps": RATES}, list(SERVERS), ["ttft_ms", "ttft_ms.p99", "throughput_rps", "peak_kv_mb"])
    return write_folder(path, run, points)


def speedup_folder(path):
    """Makes a folder in which the second method has a throughput_speedup: over a VALID run at the first rate, over an INVALID
    run at the second."""
    draw = random.Random(SEED)
    points = [serving_point(rate, index, method, draw, 1.0) for rate in (2.0, 8.0) for index, method in enumerate(SERVERS)]
    for point in points[1::2]:
        point["metrics"]["throughput_speedup"] = {"value": 1.5, "unit": "ratio"}
    run = manifest({"rate_rps": [2.0, 8.0]}, list(SERVERS), ["ttft_ms", "throughput_speedup"])
    return write_folder(path, run, points)
