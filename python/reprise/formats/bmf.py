"""Bencher Metric Format: {benchmark: {measure: {"value", "lower_value", "upper_value"}}}. A benchmark is a point, a measure a
metric; the bounds are the record's interval."""
from .. import columns
from . import points

KEYS = {"value": "value", "lower_value": "low", "upper_value": "high"}


def document(records, metrics, note):
    names = points.chosen(records, metrics)
    out = {}
    for benchmark, record in points.counting(records, note):
        shown = {name: columns.shown_metric(record["metrics"], name) for name in names}
        if reason := columns.invalid_speedup(record, records):
            for name in [name for name in shown if name.partition(".")[0] == "throughput_speedup"]:
                note(f"left out {name} of {benchmark}: {reason}")
                del shown[name]
        out[benchmark] = {name: {key: metric[ours] for key, ours in KEYS.items() if ours in metric}
                          for name, metric in shown.items() if metric}
    return out
