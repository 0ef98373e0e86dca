"""The row of a record: a column's name and value are those of `reprise export --format csv`.

Columns that the CSV does not have: FACTS, and for each metric its unit and its interval (METRIC_low, METRIC_high).
"""
import json
import pathlib

ORIGIN = ("experiment", "scale", "label", "point", "cpu", "revision", "ended_at", "warnings")
# Columns that tell records of several files apart: file or folder, verdict, and the run's code and machine.
FACTS = ("source", "kind", "verdict", "config_hash", "group", "started_at", "gpu", "cores", "compiler", "flags")
PARTS = ("", "_q1", "_q3", "_low", "_high", "_unit")
NOISY_SHARE = 0.25   # results/statistics.h
PERCENTILES = ("p50", "p90", "p95", "p99", "p99.9")   # results/metric.h


def text_of(value):
    """Returns a text as it is, any other value as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def flat(fields, prefix=""):
    """Returns nested fields by their paths: {"workload.name": "grid"}."""
    out = {}
    for name, value in fields.items():
        out |= flat(value, f"{prefix}{name}.") if isinstance(value, dict) else {prefix + name: value}
    return out


def settings_of(record):
    """Returns the requested settings by their paths; a list is its JSON."""
    return {name: text_of(value) if isinstance(value, list) else value
            for name, value in flat(record["settings"]["requested"]).items()}


def label_of(record):
    """Returns the name of the method that tables and legends show."""
    return record["settings"]["resolved"].get("method_label") or record["settings"]["requested"].get("method", "null")


def revision_of(record):
    code = record["provenance"]
    return code.get("revision", "") + ("+" + code.get("changes", "") if code.get("dirty") else "")


def invalid_reason(record):
    """Returns why the run does not count; "" if it does, or if its kind has no verdicts."""
    verdict = record["answers"].get("verdict")
    if not isinstance(verdict, str) or verdict == "VALID":
        return ""
    return "; ".join(record["answers"].get("reasons", [])) or "no reason is given"


def invalid_speedup(record, records):
    """Returns why a valid run's throughput_speedup does not count: it is relative to the first method of its group in
    `records`, whose run is INVALID. "" if it counts, or if the record has none."""
    group = record["group"]
    if group["index"] == 0 or "throughput_speedup" not in record["metrics"] or invalid_reason(record):
        return ""
    first = next((other for other in records if other["group"]["index"] == 0 and other["group"]["id"] == group["id"]), None)
    reason = first and invalid_reason(first)
    return f"the first method's run is INVALID: {reason}" if reason else ""


def warnings_of(record, records):
    """Returns the warnings that a reader of the record's numbers needs, as one text. `records` are those of its source."""
    warnings = []
    unexplained, generations = (record["metrics"].get(name, {}).get("value") for name in ("unexplained", "generations"))
    if unexplained and generations is not None:
        warnings.append(f"NOT EXACT: {unexplained:.0f} of {generations:.0f} generations differ from the reference by more than "
                        "rounding explains")
    if reason := invalid_reason(record):
        warnings.append(f"INVALID: {reason}")
    if reason := invalid_speedup(record, records):
        warnings.append(f"INVALID throughput_speedup: {reason}")
    return "; ".join(warnings)


def shown_metric(metrics, name):
    """Returns {value, unit, q1, q3, low, high} of a metric, or of a percentile ("ttft_ms.p99"), as far as the record has
    them; {} if it has none of this name. The interval of a median is that of its 50th percentile."""
    metric, dot, percentile = name.partition(".")
    found = metrics.get(metric, {})
    if (percentile if dot else "value") not in found:
        return {}
    interval = None if dot else found.get("interval")
    interval = interval or found.get("intervals", {}).get(percentile or "p50", {})
    quartiles = {} if dot else {key: found[key] for key in ("q1", "q3") if key in found}
    return {"value": found[percentile if dot else "value"], "unit": found["unit"]} | quartiles | interval


def is_noisy(metrics, name):
    """True for a metric that tables mark with a star."""
    metric = metrics.get(name, {})   # a percentile is not marked
    has_wide_spread = ("q1" in metric and not metric.get("population")
                       and metric["q3"] - metric["q1"] > NOISY_SHARE * abs(metric["value"]))
    return has_wide_spread or "disturbed" in metric


def planned_metrics(source):
    """Returns the metrics that the experiment of a run's folder names, the most important first; [] for a file."""
    manifest = pathlib.Path(source, "run.json")
    return json.loads(manifest.read_text(encoding="utf-8")).get("metrics", []) if manifest.is_file() else []


def metric_names(records):
    """Returns the names of all metrics that any record has, each once."""
    return sorted({name for record in records for name in record["metrics"]})


def require_known_metrics(names, records):
    """Raises ValueError for a metric, or the metric of a percentile, that no record has, for an unknown percentile, and for a
    name that comes twice."""
    known = metric_names(records)
    for name in names:
        if list(names).count(name) > 1:
            raise ValueError(f"the metrics {', '.join(names)} name {name} twice")
        metric, dot, percentile = name.partition(".")
        if metric not in known:
            raise ValueError(f"no record has a metric \"{name}\"; there are: {', '.join(known)}")
        if dot and percentile not in PERCENTILES:
            raise ValueError(f"\"{name}\" names no percentile; there are: {', '.join(PERCENTILES)}")


def row_of(record, source, records, metrics):
    """Returns the record's columns; those without a value are left out. `records` are those of its source."""
    machine, code = record["machine"], record["provenance"]
    row = settings_of(record) | {
        "experiment": record["experiment"]["name"], "scale": record["experiment"].get("scale"), "label": label_of(record),
        "point": record["point"], "cpu": machine.get("cpu"), "revision": revision_of(record),
        "ended_at": record.get("ended_at"), "warnings": warnings_of(record, records), "source": str(source),
        "kind": record["experiment"]["kind"], "verdict": record["answers"].get("verdict"),
        "config_hash": record["config_hash"], "group": record["group"]["id"], "started_at": record.get("started_at"),
        "gpu": machine.get("device", {}).get("name"), "cores": machine.get("logical_cores"), "compiler": code.get("compiler"),
        "flags": code.get("flags")}
    for name in metrics:
        shown = shown_metric(record["metrics"], name)
        row |= {name + ("" if key == "value" else f"_{key}"): value for key, value in shown.items()}
    row["noisy"] = " ".join(name for name in metrics if is_noisy(record["metrics"], name))
    return row


def table_of(sources, metrics=None):
    """Returns {column: values of all points}, None where a point has none. `sources` are pairs of a folder or file and its
    records; `metrics` are names as for --metrics (default: all that records have or their experiments name). Raises
    ValueError for a metric that no record has."""
    records = [record for _, those in sources for record in those]
    if metrics is None:
        metrics = dict.fromkeys([name for source, _ in sources for name in planned_metrics(source)] + metric_names(records))
    else:
        require_known_metrics(metrics, records)
    rows = [row_of(record, source, those, metrics) for source, those in sources for record in those]
    settings = sorted({name for record in records for name in settings_of(record)} - set(ORIGIN) - set(FACTS))
    names = [*ORIGIN, *FACTS, *settings, *(name + part for name in metrics for part in PARTS), "noisy"]
    return {name: [row.get(name) for row in rows] for name in names}
