"""What the figure families share: reading a results folder, names and units, series and panels, captions."""
import glob
import json
import math
import os
import sys

# Colours that stay apart for colour-blind readers (Okabe and Ito's palette without its yellow, then darker and
# greyer ones), each with a marker of its own so that a grey print can be read too.
STYLES = [("#0072B2", "o"), ("#D55E00", "s"), ("#009E73", "^"), ("#CC79A7", "D"), ("#E69F00", "v"), ("#56B4E9", "P"),
          ("#000000", "X"), ("#7F7F7F", "<"), ("#8C564B", ">"), ("#5B3A8E", "h")]

LABELS = {
    "ttft_ms": "time to first token",
    "tpot_ms": "time per further token",
    "e2e_ms": "end-to-end time",
    "step_ms": "time of a decode step",
    "decode_tokens_per_s": "generated tokens per second",
    "prefill_tokens_per_s": "prompt tokens per second",
    "prompt_tokens": "length of the prompt",
    "new_tokens": "generated tokens",
    "batch": "sequences in the batch",
    "memory_limit_ratio": "share of the measured memory rate",
    "compute_limit_ratio": "share of the measured arithmetic rate",
    "latency_us": "time of one attention step",
    "tokens_per_s": "token rate of one attention layer",
    "speedup": "speedup",
    "relay_theory_speedup": "theory (RelayAttention eq. 10)",
    "io_bound_speedup": "bound by memory traffic",
    "shared_tokens": "shared tokens",
    "shared_percent": "shared part of the prompt",
    "context_tokens": "private tokens",
    "completion_tokens": "completion tokens",
    "kv_heads": "heads of keys and values",
    "append_us": "append",
    "shared_us": "shared (chunk-first, system)",
    "private_us": "private (sequence-first, context)",
    "merge_us": "merge",
    "qkv_us": "QKV projection",
    "mlp_us": "MLP",
}


# results::kNoisyShare
NOISY_SHARE = 0.25

# results::kPercentiles; "ttft_ms.p99" names one of a metric.
PERCENTILES = ("p50", "p90", "p95", "p99", "p99.9")


def fail(message):
    sys.exit("reprise_plot: " + message)


def read_json(path):
    try:
        with open(path, encoding="utf-8") as file:
            return json.load(file)
    except (OSError, ValueError) as error:
        fail(f"cannot read {path}: {error}")


def refuse_unsound(record, place):
    """What a figure reads of a record: settings, and metrics that are numbers with units."""
    settings = record.get("settings") if isinstance(record, dict) else None
    if not isinstance(settings, dict) or not isinstance(settings.get("requested"), dict):
        fail(f"{place} is no record: it has no settings")
    metrics = record.get("metrics")
    if not isinstance(metrics, dict):
        fail(f"{place} is no record: it has no metrics")
    for name, metric in metrics.items():
        keys = ("value", "q1", "q3") + PERCENTILES
        numbers = [metric.get(key, 0) for key in keys] if isinstance(metric, dict) else [None]
        if not all(isinstance(number, (int, float)) and math.isfinite(number) for number in numbers):
            fail(f"{place}: its metric {name} is no number")


def files_of(folder, stem, suffix):
    """records.jsonl, and records-WRITER.jsonl of each of several processes; skipped.json likewise."""
    files = glob.glob(os.path.join(glob.escape(folder), f"{stem}-*.{suffix}"))
    alone = os.path.join(folder, f"{stem}.{suffix}")
    return ([alone] if os.path.exists(alone) else []) + sorted(files)


def read_records(folder):
    """The records of all writers, each point once."""
    records = {}
    for path in files_of(folder, "records", "jsonl") or [os.path.join(folder, "records.jsonl")]:
        for number, record in enumerate(read_lines(path)):
            records.setdefault(record.get("point", (path, number)), record)
    if not records:
        fail(f"{folder} holds no complete record")
    return list(records.values())


def read_lines(path):
    """Whole lines of a file of records; what follows the last line break was cut off while it was written."""
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read()
    except (OSError, ValueError) as error:
        fail(f"cannot read {path}: {error}")
    records = []
    for number, line in enumerate(text[: text.rfind("\n") + 1].splitlines(), 1):
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            fail(f"{path} line {number} is damaged: {error}")
        refuse_unsound(record, f"{path} line {number}")
        records.append(record)
    return records


def read_skipped(folder, records):
    """Points that some writer skipped for want of memory and none has measured, each once."""
    measured = {record.get("point") for record in records}
    skipped = {}
    for path in files_of(folder, "skipped", "json"):
        for entry in read_json(path):
            if entry["point"] not in measured:
                skipped.setdefault(entry["point"], entry)
    return list(skipped.values())


def read_paper(folder):
    """{"caption", "points"} as `reprise run` and `reprise plot` look them up; nothing for older folders."""
    path = os.path.join(folder, "paper.json")
    return read_json(path) if os.path.exists(path) else {"caption": "", "points": {}}


def setting(record, name):
    return record["settings"]["requested"].get(name)


def split_metric_name(name):
    """"ttft_ms.p99" is p99 of ttft_ms; of a metric itself, the percentile is empty."""
    metric, _, percentile = name.partition(".")
    return metric, percentile


def metric_of(record, name):
    """The metric as the record holds it, a percentile as a metric of its own; None where there is none."""
    metric, percentile = split_metric_name(name)
    found = record["metrics"].get(metric)
    if found is None or not percentile:
        return found
    return {"value": found[percentile], "unit": found["unit"]} if percentile in found else None


def too_few(records, name):
    """How many of the records have too few samples for the percentile."""
    metric, percentile = split_metric_name(name)
    return sum(percentile in record["metrics"].get(metric, {}).get("too_few_for", []) for record in records)


def name_of(metric_or_axis):
    name, percentile = split_metric_name(metric_or_axis)
    text = LABELS.get(name, name.replace("_", " "))
    return f"{text}, {percentile}" if percentile else text


def metric_label(records, name):
    """The metric with its unit; a speedup with the method that it is over."""
    if name == "speedup":
        first = [record for record in records if record.get("group", {}).get("index", 0) == 0]
        return f"speedup over {method_name(first[0])}" if first else "speedup"
    return label_of(name, unit_of(records, name))


def label_of(name, unit):
    """The name with its unit, where neither the unit says nothing nor the name says it already."""
    is_said = not unit or unit == "ratio" or unit in name_of(name).split()
    return name_of(name) if is_said else f"{name_of(name)} [{unit}]"


def is_noisy(metric):
    """As the table's star: the quartiles lie more than a quarter of the median apart, or samples lost their cores."""
    return "disturbed" in metric or metric.get("iqr", 0.0) > NOISY_SHARE * abs(metric["value"])


def has_band(records, name):
    return any("q1" in (metric_of(record, name) or {}) for record in records)


def short(value):
    return os.path.basename(str(value).rstrip("/")) or str(value)


def method_name(record):
    """A method, with those of its options that are set."""
    options = setting(record, "method_options") or {}
    words = ", ".join(f"{key} {value}" for key, value in sorted(options.items()))
    return f"{setting(record, 'method')} ({words})" if words else setting(record, "method")


def varying_settings(records, axes):
    keys = ["method", "model", "dtype"] + sorted(axes)
    return [key for key in keys if len({json.dumps(setting(record, key)) for record in records}) > 1]


def series_name(record, spec, varying):
    """The series' value, and whatever else varies, so that no two lines are silently joined."""
    apart = (spec["series"], spec["x"], spec.get("panels"))
    keys = [spec["series"]] + [key for key in varying if key not in apart]

    def text(key):
        if key == "method":
            return method_name(record)
        return short(setting(record, key)) if key in ("model", "dtype") else f"{key}={setting(record, key)}"
    return ", ".join(text(key) for key in keys)


def in_order(records, name_of_record):
    """Names in the order in which the methods stand in the experiment file."""
    rank = {}
    for record in records:
        rank.setdefault(name_of_record(record), record.get("group", {}).get("index", 0))
    return sorted(rank, key=rank.get)


def unit_of(records, name):
    for record in records:
        if metric := metric_of(record, name):
            return metric["unit"]
    return ""


def values_of(records, run, axis):
    """Values of an axis that the records have: numbers ascending, words in the order of the experiment file."""
    found = {setting(record, axis) for record in records}
    if not any(isinstance(value, str) for value in found):
        return sorted(found)
    listed = run["settings"]["axes"].get(axis, [])
    return [value for value in listed if value in found] + sorted(found - set(listed))


def panels_of(records, run, spec):
    """[(value, records)] for each value of the axis that splits the figure; one panel without such an axis."""
    if not spec.get("panels"):
        return [(None, records)]
    values = values_of(records, run, spec["panels"])
    return [(value, [r for r in records if setting(r, spec["panels"]) == value]) for value in values]


def title_panel(plot, spec, value):
    if value is not None:
        plot.set_title(f"{name_of(spec['panels'])}: {value}", fontsize=9)


def skipped_note(skipped):
    """How many points are missing for want of memory, and how much they need; "" where none is."""
    if not skipped:
        return ""
    needs = sorted(entry["need_bytes"] / 2**30 for entry in skipped)
    available = min(entry["available_bytes"] for entry in skipped) / 2**30
    need = f"{needs[0]:.2f}" + (f" to {needs[-1]:.2f}" if needs[-1] > needs[0] else "")
    points = "1 point was" if len(skipped) == 1 else f"{len(skipped)} points were"
    return f" {points} skipped for want of memory: {need} GiB needed, {available:.2f} GiB available."


def caption_of(records, run, paper, has_bands=True, y="", skipped=()):
    """Model or shape, dtype, machine, seeds and revision: what a reader needs to judge the numbers."""
    statistic = split_metric_name(y)[1] or "median"
    def values(get):
        return ", ".join(sorted({str(get(record)) for record in records}))
    first = records[0]
    subject = ""
    if setting(first, "model"):
        subject = f"{values(lambda r: short(setting(r, 'model')))} ({values(lambda r: setting(r, 'weights'))} weights), "
    elif setting(first, "heads"):
        subject = (f"one layer of {values(lambda r: setting(r, 'heads'))} heads of "
                   f"{values(lambda r: setting(r, 'head_dim'))}, ")
    machine = values(lambda r: r["machine"].get("cpu", "unknown processor"))
    revision = values(lambda r: r["provenance"].get("revision", "unknown")[:12]
                      + (" (modified)" if r["provenance"].get("dirty") else ""))
    seeds = ", ".join(f"{name} {seed}" for name, seed in sorted(first["seeds"].items()))
    text = (f"{subject}{values(lambda r: setting(r, 'dtype'))}; "
            f"{machine}, {values(lambda r: setting(r, 'threads'))} threads, {values(lambda r: setting(r, 'isa'))}; "
            f"{statistic} of {values(lambda r: setting(r, 'repetitions'))} repetitions{', band: quartiles' if has_bands else ''}; "
            f"seeds: {seeds}; revision {revision}.")
    if paper["points"]:
        text += f" Paper: {paper['caption']}."
    if few := too_few(records, y):
        text += f" Left out for want of samples: {few} of {len(records)} points."
    text += skipped_note(skipped)
    left_out = ", ".join(method["method"] for method in run.get("left_out", []))
    if left_out:
        text += f" Not measured, for want of a library: {left_out}."
    note = run.get("caption", {}).get("note", "")
    return text + (" " + note if note else "")
