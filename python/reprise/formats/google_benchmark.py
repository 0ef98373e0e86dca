"""JSON of Google Benchmark, which its compare.py reads. Each metric of a point that is a time is one benchmark; other metrics
are left out.

compare.py prints whole numbers, so times are in nanoseconds. It reads only benchmarks with a "cpu_time". Records have no CPU
time of a metric, so it is 0 in all of them.
"""
import statistics

from .. import columns
from . import points

NANOSECONDS = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}


def context(record):
    machine, code = record["machine"], record["provenance"]
    facts = {"date": record.get("started_at"), "executable": "reprise", "num_cpus": machine.get("logical_cores"),
             "library_build_type": code.get("build_type", "").lower() or None, "json_schema_version": 1,
             "cpu": machine.get("cpu"), "revision": columns.revision_of(record), "cpu_time": "not measured, 0 in all benchmarks"}
    return {key: value for key, value in facts.items() if value is not None}


def entries(name, metric, samples):
    """Returns the entries of one benchmark: its repetitions, and their aggregates. Samples of a population, such as the
    requests of a run, are no repetitions of one measurement; only their aggregates are written."""
    repetitions = samples or [metric["value"]]
    same = {"run_name": name, "repetitions": len(repetitions), "threads": 1}

    def entry(time, **more):
        return same | more | {"real_time": time * NANOSECONDS[metric["unit"]], "cpu_time": 0.0, "time_unit": "ns"}
    runs = [] if metric.get("population") else [
        entry(time, name=name, run_type="iteration", repetition_index=index, iterations=1)
        for index, time in enumerate(repetitions)]
    if not samples:
        aggregates = {"median": metric["value"]} if metric.get("population") else {}
    else:
        aggregates = {"mean": statistics.fmean(samples), "median": metric["value"]}
        aggregates |= {"stddev": statistics.stdev(samples)} if len(samples) > 1 else {}
    return runs + [entry(time, name=f"{name}_{aggregate}", run_type="aggregate", aggregate_name=aggregate,
                         aggregate_unit="time", iterations=len(repetitions)) for aggregate, time in aggregates.items()]


def times(records, metrics):
    """Returns the metrics that are times. Raises ValueError if there is none, or one of --metrics is no time."""
    names = points.chosen(records, metrics)
    found = [name for name in names
             if any(record["metrics"].get(name, {}).get("unit") in NANOSECONDS for record in records)]
    others = [name for name in names if name not in found]
    if not found or metrics and others:
        raise ValueError(f"--format google-benchmark takes metrics that are times (in {', '.join(NANOSECONDS)}), without "
                         f"percentiles, and these are not: {', '.join(others)}. --format bmf takes any metric")
    return found


def document(records, metrics, note):
    names, benchmarks = times(records, metrics), []
    for point, record in points.counting(records, note):
        for name in names:
            if metric := record["metrics"].get(name):
                benchmarks += entries(f"{point}/{name}", metric, record["samples"].get(name, []))
    return {"context": context(records[0]), "benchmarks": benchmarks}
