"""What the figure families share: the document to draw, names and units, looks, series and panels, captions."""
import json
import os
import signal
import sys

# Lines and letters: as black, and told apart from the black on coloured cells, which is black on a dark page too.
INK = "#010101"

# Colours that stay apart for colour-blind readers (Okabe and Ito's palette without its yellow, then darker and
# greyer ones), each with a marker of its own so that a grey print can be read too.
STYLES = [("#0072B2", "o"), ("#D55E00", "s"), ("#009E73", "^"), ("#CC79A7", "D"), ("#E69F00", "v"), ("#56B4E9", "P"),
          (INK, "X"), ("#7F7F7F", "<"), ("#8C564B", ">"), ("#7B5CB8", "h")]

# A method looks the same in every figure, whoever else is in it.
METHODS = ["paged", "relay_attention", "chunk_attention", "paged_shared", "auto", "contiguous", "recompute", "torch_naive",
           "torch_memory_efficient", "torch_sdpa"]

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
    "memory_beside_ratio": "share of the memory rate measured beside",
    "stream_ratio": "rate, over reading the same keys alone",
    "compute_limit_ratio": "share of the measured arithmetic rate",
    "latency_us": "time of one attention step",
    "tokens_per_s": "token rate of one attention layer",
    "speedup": "speedup",
    "step_us": "time of one step, append and attention",
    "step_speedup": "speedup, append included,",
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
    "dataset": "LongBench set",
    "use_case": "use of PML",
    "ttft_speedup": "speedup of the time to first token",
    "lookup_ms": "lookup",
    "copy_ms": "copying states",
    "compute_ms": "computing new tokens",
    "layer_ms": "time of one layer",
    "rate_rps": "request rate",
    "throughput_rps": "throughput",
    "goodput_rps": "goodput",
    "normalised_latency_s": "normalised latency",
    "mean_normalised_latency_s": "mean normalised latency",
    "itl_ms": "time between tokens",
    "queue_ms": "time in the queue",
    "peak_kv_mb": "peak memory of keys and values",
}


# results::kNoisyShare
NOISY_SHARE = 0.25

# results::kPercentiles; "ttft_ms.p99" names one of a metric.
PERCENTILES = ("p50", "p90", "p95", "p99", "p99.9")


def note(text):
    """A line on standard error, which is lost where that takes no more (a full disk): the figures matter. What would
    steer a terminal is written out. Where whoever reads has gone, the script ends as by SIGPIPE."""
    text = "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)
    try:
        os.write(sys.stderr.fileno(), (text + "\n").encode())  # not print(): what it keeps would fail again at the end
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())
        sys.exit(128 + signal.SIGPIPE)
    except OSError:
        pass


class CannotDraw(Exception):
    """A figure that its records do not give, said in a sentence."""


def fail(message):
    note("reprise_plot: " + message)
    sys.exit(1)


def literal(value):
    """The same with every dollar sign as itself, not as the beginning of what matplotlib reads as mathematics."""
    if isinstance(value, str):
        return value.replace("$", r"\$")
    if isinstance(value, list):
        return [literal(one) for one in value]
    if isinstance(value, dict):
        return {literal(key): literal(one) for key, one in value.items()}
    return value


def plain(text):
    """What literal() was asked of, as a reader outside matplotlib sees it."""
    return text.replace(r"\$", "$")


def read_document(path):
    """What `reprise` wrote to be drawn: it has checked the folder, so that nothing of it is read here."""
    if os.path.isdir(path):
        fail(f"{path} is a folder; this script draws what `reprise plot {path}` hands it")
    try:
        with open(path, encoding="utf-8") as file:
            document = literal(json.load(file))
    except (OSError, ValueError, RecursionError) as error:
        fail(f"cannot read {path}: {error}")
    keys = {"source": str, "run": dict, "records": list, "papers": list, "skipped": int, "missing": int}
    if not isinstance(document, dict) or any(not isinstance(document.get(key), kind) for key, kind in keys.items()):
        fail(f"{path} is no document of figures (source, run, records, papers, skipped, missing); draw a folder of results "
             "with: reprise plot FOLDER")
    if not document["records"]:
        fail(f"{document['source']} holds no record")
    return document


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
    if name in ("speedup", "step_speedup"):
        first = [record for record in records if record.get("group", {}).get("index", 0) == 0]
        return f"{name_of(name)} over {method_name(first[0])}" if first else name_of(name).rstrip(",")
    return label_of(name, unit_of(records, name))


def label_of(name, unit):
    """The name with its unit, where neither the unit says nothing nor the name says it already."""
    is_said = not unit or unit == "ratio" or unit in name_of(name).split()
    return name_of(name) if is_said else f"{name_of(name)} [{unit}]"


def is_noisy(metric):
    """As the table's star (results::is_noisy): the quartiles lie more than a quarter of the median apart, or samples lost
    their cores."""
    return "disturbed" in metric or "population" not in metric and metric.get("iqr", 0.0) > NOISY_SHARE * abs(metric["value"])


def has_band(records, name):
    """Whether any point has a spread to be seen; a rate that follows from the shape alone has none."""
    metrics = [metric_of(record, name) or {} for record in records]
    return any(metric.get("q1", 0) != metric.get("q3", 0) for metric in metrics)


def styles_of(names):
    """{name: (color, marker, dash)}: a method's own look, a free one for what else there is."""
    def method_of(name):
        return name.split(",")[0].split(" (")[0]
    styles = {}
    for is_mine in (lambda name: name in METHODS, lambda name: method_of(name) in METHODS):
        for name in names:
            if name not in styles and is_mine(name):
                style = STYLES[METHODS.index(method_of(name))] + ("-",)
                if style not in styles.values():
                    styles[name] = style
    free = [style + (dash,) for dash in ("-", "--", "-.") for style in STYLES]
    free = [style for style in free if style not in styles.values()] or free
    for name in names:
        if name not in styles:
            styles[name] = free.pop(0) if len(free) > 1 else free[0]
    return {name: styles[name] for name in names}


# The machine's own rates beside a point: what they are called, the metric that says them for the moment of the point,
# and the limit that was measured at the start of its run.
RATES = (("read rate", "GB/s", "beside_gb_s", ("dram_read_gb_s",)),
         ("arithmetic rate", "GFLOP/s", "beside_gflop_s", ("bf16_gflop_s", "f32_gflop_s")))
# Points whose machine differed by more are no curve.
MOVED_SHARE = 0.2


def rate_of(record, metric, limits):
    if metric in record["metrics"]:
        return record["metrics"][metric]["value"]
    known = record["machine"].get("limits", {})
    return next((known[limit] for limit in limits if known.get(limit)), 0)


def moved(records):
    """{name: (lowest, highest, unit)} of the rates that differ too much between these points."""
    spans = {}
    for name, unit, metric, limits in RATES:
        rates = [rate for rate in (rate_of(record, metric, limits) for record in records) if rate > 0]
        if rates and max(rates) > (1 + MOVED_SHARE) * min(rates):
            spans[name] = (min(rates), max(rates), unit)
    return spans


def moved_remark(spans):
    """One sentence for the caption, of the curves that are drawn with grey markers; "" where there is none."""
    if not spans:
        return ""
    parts = []
    for name in sorted({name for span in spans for name in span}):
        those = [span[name] for span in spans if name in span]
        low, high, unit = min(span[0] for span in those), max(span[1] for span in those), those[0][2]
        parts.append(f"{name} moved from {low:.0f} to {high:.0f} {unit}")
    return (f"Grey markers: the machine's {' and its '.join(parts)} between these points, so that a curve through them "
            "tells of the machine too; methods at one place of the sweep compare all the same.")


def short(value):
    return os.path.basename(str(value).rstrip("/")) or str(value)


def method_name(record):
    """A method as its experiment calls it, else with those of its options that are set."""
    label = record["settings"].get("resolved", {}).get("method_label")
    if label and isinstance(label, str):
        return label
    options = setting(record, "method_options") or {}
    words = ", ".join(key if value is True else f"{key} {value}" for key, value in sorted(options.items()))
    return f"{setting(record, 'method')} ({words})" if words else setting(record, "method")


def varying_settings(records, axes):
    keys = ["method", "model", "dtype", "weight_format"] + sorted(axes)
    return [key for key in keys if len({json.dumps(setting(record, key)) for record in records}) > 1]


def series_name(record, spec, varying):
    """The series' value, and whatever else varies, so that no two lines are silently joined."""
    apart = (spec["series"], spec["x"], spec.get("panels"))
    keys = [spec["series"]] + [key for key in varying if key not in apart]

    def text(key):
        if key == "method":
            return method_name(record)
        if key in ("model", "dtype", "weight_format"):
            return short(setting(record, key))
        return f"{key}={setting(record, key)}"
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


def invalid_reason(record):
    """Why a run does not count, as its own rules say; "" where it does, or has none."""
    return record.get("invalid", "")


def values_of(records, run, axis):
    """Values of an axis that the records have: numbers ascending, words in the order of the experiment file."""
    found = {setting(record, axis) for record in records}
    if not any(isinstance(value, str) for value in found):
        return sorted(found)
    listed = run["settings"]["axes"].get(axis, [])
    return [value for value in listed if value in found] + sorted(found - set(listed))


def panels_of(records, run, spec):
    """[(value, records)] for each value of the setting that splits the figure; one panel without such a setting."""
    if not spec.get("panels"):
        return [(None, records)]
    values = values_of(records, run, spec["panels"])
    return [(value, [r for r in records if setting(r, spec["panels"]) == value]) for value in values]


def title_panel(plot, spec, value):
    if value is not None:
        plot.set_title(f"{name_of(spec['panels'])}: {panel_name(spec, value)}", fontsize=9)


def panel_name(spec, value):
    return short(value) if spec["panels"] == "model" else value


def is_drawn(paper, spec):
    """Lines alone have the paper's numbers beside ours."""
    return spec.get("family") == "lines" and any(spec["y"] in metrics for metrics in paper["points"].values())


def paper_sentences(papers):
    """One for each source, whatever the number of machines that it was measured on."""
    sources = {}
    for paper in papers:
        sources.setdefault(paper["source"], []).append(paper)
    sentences = [f"{', '.join(paper['label'] for paper in those)}: {source}, on "
                 f"{'; '.join(paper['hardware'] for paper in those)}." for source, those in sources.items()]
    return ["P" + sentence[1:] if sentence.startswith("paper") else sentence for sentence in sentences]


def counted(numbers, thing):
    """"8 threads", "1 thread", "1, 2 threads" of numbers as a caption lists them."""
    return f"{numbers} {thing}{'' if numbers == '1' else 's'}"


def text_of_taking(records, spec, has_bands):
    """What a point of the figure is made of: "median of 5 repetitions, band: quartiles"."""
    metric, percentile = split_metric_name(spec.get("y", ""))
    repetitions = different(records, lambda r: setting(r, "repetitions"))
    taken = counted(repetitions, "repetition")
    if repetitions == "1" and (most := most_samples(records, metric)) > 1:  # of a serving run: its requests
        taken = f"up to {most} samples"
    if percentile or taken != "1 repetition":  # one number is its own median
        taken = f"{percentile or 'median'} of {taken}"
    return taken + (", band: quartiles" if has_bands else "")


def most_samples(records, metric):
    counts = [record["metrics"].get(metric, {}).get("count", 1) for record in records]
    return int(max(counts, default=1))


def different(records, get):
    return ", ".join(sorted({str(get(record)) for record in records}))


def origin_of(records, taken):
    """Model or shape, dtype, machine, seeds and revision: what a reader needs to judge the numbers."""
    first = records[0]

    def values(key):
        return different(records, lambda r: setting(r, key))
    subject = ""
    if setting(first, "model"):
        subject = f"{different(records, lambda r: short(setting(r, 'model')))} ({values('weights')} weights), "
    elif setting(first, "heads"):
        subject = f"one layer of {values('heads')} heads of {values('head_dim')}, "
    machine = different(records, lambda r: r["machine"].get("cpu", "unknown processor"))
    revision = different(records, lambda r: r["provenance"].get("revision", "unknown")[:12]
                         + (" (modified)" if r["provenance"].get("dirty") else ""))
    seeds = ", ".join(f"{name} {seed}" for name, seed in sorted(first["seeds"].items()))
    formats = f", weights {values('weight_format')}" if setting(first, "weight_format") else ""
    return (f"{subject}{values('dtype')}{formats}; {machine}, {counted(values('threads'), 'thread')}, {values('isa')}; "
            f"{taken}; seeds: {seeds}; revision {revision}.")


def gaps_of(document, spec):
    """Sentences on what the figure does not show, or shows and does not count."""
    records, run = document["records"], document["run"]
    sentences = []
    if few := too_few(records, spec.get("y", "")):
        sentences.append(f"Left out for want of samples: {few} of {len(records)} points.")
    if invalid := sum(bool(invalid_reason(record)) for record in records):
        sentences.append(f"INVALID by their own rules, and crossed out: {invalid} of {len(records)} points.")
    left_out = ", ".join(method["method"] for method in run.get("left_out", []))
    if left_out:
        sentences.append(f"Not measured, for want of a library: {left_out}.")
    planned = len(records) + document["skipped"] + document["missing"]
    if document["skipped"]:
        sentences.append(f"{document['skipped']} of {planned} points did not fit into the machine's memory.")
    if document["missing"]:
        sentences.append(f"{document['missing']} of {planned} points are missing.")
    return sentences


def caption_of(document, spec, has_bands=True, remark=""):
    """For a figure that stands alone: where its numbers are from, and what it does not show."""
    records = document["records"]
    sentences = [origin_of(records, text_of_taking(records, spec, has_bands))]
    sentences += paper_sentences([paper for paper in document["papers"] if is_drawn(paper, spec)])
    sentences += gaps_of(document, spec)
    return " ".join(sentences + [text for text in (remark, spec.get("note", "")) if text])


def page_caption_of(document, spec, has_bands=True, remark=""):
    """For a page that tells once where all its numbers are from, and what the note says."""
    taken = text_of_taking(document["records"], spec, has_bands)
    sentences = [taken[0].upper() + taken[1:] + "."]
    sentences += paper_sentences([paper for paper in document["papers"] if is_drawn(paper, spec)])
    return " ".join(sentences + gaps_of(document, spec) + ([remark] if remark else []))
