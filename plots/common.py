"""Shared by all figure families: the document to draw, names and units, styles, series and panels, captions."""
import json
import os
import re
import select
import signal
import sys

# Colour of lines and letters. It equals black but differs from the black on coloured cells, which stays black on a dark
# page.
INK = "#010101"

# Colours that colour-blind readers can distinguish (Okabe and Ito's palette without yellow, then darker and greyer
# ones), each with its own marker for grey prints.
STYLES = [("#0072B2", "o"), ("#D55E00", "s"), ("#009E73", "^"), ("#CC79A7", "D"), ("#E69F00", "v"), ("#56B4E9", "P"),
          (INK, "X"), ("#7F7F7F", "<"), ("#8C564B", ">"), ("#7B5CB8", "h")]

# A method has the same style in every figure: {name: (color, marker)}, as the program gives them with the document.
LOOKS = {}


def take_looks(document):
    LOOKS.update({name: tuple(look) for name, look in document.get("looks", {}).items()})


# The models' names in figures: {model: the last parts of its path, as many as distinguish it}.
NAMES = {}


def take_names(records):
    paths = {model: model.rstrip("/").split("/") for record in records if (model := setting(record, "model"))}
    for model, parts in paths.items():
        others = [path for other, path in paths.items() if other != model]
        NAMES[model] = next(("/".join(parts[-count:]) for count in range(1, len(parts) + 1)
                             if all(path[-count:] != parts[-count:] for path in others)), model)


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
    "tokens_per_s": "token rate",
    "attention tokens_per_s": "token rate of one attention layer",  # in kind attention
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
    "ttft_limit_ms": "limit of the time to first token",
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


def has_lost_its_reader(descriptor):
    """Returns whether the descriptor is a pipe whose reader has closed its end."""
    poll = select.poll()
    poll.register(descriptor, 0)
    return any(event & select.POLLERR for _, event in poll.poll(0))


def note(text):
    """Prints a line on standard error, with control characters escaped. A write that fails (a full disk, a reader that has
    gone) is ignored, since the figures matter more. If the reader of standard output has gone too, the script ends as by
    SIGPIPE."""
    text = "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)
    try:
        os.write(sys.stderr.fileno(), (text + "\n").encode())  # not print(), whose buffer would fail again at exit
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())
        if has_lost_its_reader(sys.stdout.fileno()):
            sys.exit(128 + signal.SIGPIPE)
    except OSError:
        pass


class CannotDraw(Exception):
    """Says in a sentence why the records do not give a figure."""


def fail(message):
    note("reprise_plot: " + message)
    sys.exit(1)


# Characters that XML, and so an SVG, forbids.
FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


def literal(value):
    """Escapes dollar signs, which matplotlib would read as mathematics, and drops characters that no SVG can have."""
    if isinstance(value, str):
        return FORBIDDEN.sub("", value).replace("$", r"\$")
    if isinstance(value, list):
        return [literal(one) for one in value]
    if isinstance(value, dict):
        return {literal(key): literal(one) for key, one in value.items()}
    return value


def plain(text):
    """Undoes literal(), for readers outside matplotlib."""
    return text.replace(r"\$", "$")


def read_document(path):
    """The document that `reprise` wrote to be drawn. `reprise` has checked the folder, which is not read here."""
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
    take_looks(document)
    return document


def setting(record, name):
    return record["settings"]["requested"].get(name)


def split_metric_name(name):
    """Splits "ttft_ms.p99" into ttft_ms and p99. The percentile of a plain metric is empty."""
    metric, _, percentile = name.partition(".")
    return metric, percentile


def metric_of(record, name):
    """Returns a record's metric, or a percentile as a metric of its own; None if it has none."""
    metric, percentile = split_metric_name(name)
    found = record["metrics"].get(metric)
    if found is None or not percentile:
        return found
    return {"value": found[percentile], "unit": found["unit"]} if percentile in found else None


def too_few(records, name):
    """Counts the records with too few samples for the percentile."""
    metric, percentile = split_metric_name(name)
    return sum(percentile in record["metrics"].get(metric, {}).get("too_few_for", []) for record in records)


def name_of(metric_or_axis):
    name, percentile = split_metric_name(metric_or_axis)
    text = LABELS.get(name, name.replace("_", " "))
    return f"{text}, {percentile}" if percentile else text


def metric_label(records, name):
    """Returns the metric's name, as the records' kind calls it, and unit; for a speedup, also the method it refers to."""
    if name in ("speedup", "step_speedup"):
        first = [record for record in records if record.get("group", {}).get("index", 0) == 0]
        return f"{name_of(name)} over {method_name(first[0])}" if first else name_of(name).rstrip(",")
    kinds = {record.get("experiment", {}).get("kind") for record in records}
    in_kind = next((f"{kind} {name}" for kind in kinds if f"{kind} {name}" in LABELS), name)
    return label_of(in_kind, unit_of(records, name))


def label_of(name, unit):
    """Returns the name with its unit, unless the unit is empty or the name contains it."""
    is_said = not unit or unit == "ratio" or unit in name_of(name).split()
    return name_of(name) if is_said else f"{name_of(name)} [{unit}]"


def is_noisy(metric):
    """The same rule as the table's star (results::is_noisy): the quartiles are more than a quarter of the median apart, or
    samples lost their cores."""
    return "disturbed" in metric or "population" not in metric and metric.get("iqr", 0.0) > NOISY_SHARE * abs(metric["value"])


def has_band(records, name):
    """True if any point has a visible spread; a rate computed from the shape has none."""
    metrics = [metric_of(record, name) or {} for record in records]
    return any(metric.get("q1", 0) != metric.get("q3", 0) for metric in metrics)


def legend_label(name):
    """Returns the name as a legend takes it: matplotlib leaves out labels that begin with "_"."""
    return "\u200b" + name if name.startswith("_") else name


def styles_of(names):
    """Returns {name: (color, marker, dash)}: a method's own style, and a free style for any other name."""
    def method_of(name):
        return name.split(",")[0].split(" (")[0]
    styles = {}
    for is_mine in (lambda name: name in LOOKS, lambda name: method_of(name) in LOOKS):
        for name in names:
            if name not in styles and is_mine(name):
                style = LOOKS[method_of(name)] + ("-",)
                if style not in styles.values():
                    styles[name] = style
    free = [style + (dash,) for dash in ("-", "--", "-.") for style in STYLES]
    free = [style for style in free if style not in styles.values()] or free
    for name in names:
        if name not in styles:
            styles[name] = free.pop(0) if len(free) > 1 else free[0]
    return {name: styles[name] for name in names}


# The machine's rates measured beside a point: name, unit, the record's metric for the moment of the point, and the
# limit measured at the start of its run.
RATES = (("read rate", "GB/s", "beside_gb_s", ("dram_read_gb_s",)),
         ("arithmetic rate", "GFLOP/s", "beside_gflop_s", ("bf16_gflop_s", "f32_gflop_s")))
# If a machine's rate differs by more than this between the points of a curve, the curve gets grey markers.
MOVED_SHARE = 0.2


def rate_of(record, metric, limits):
    if metric in record["metrics"]:
        return record["metrics"][metric]["value"]
    known = record["machine"].get("limits", {})
    return next((known[limit] for limit in limits if known.get(limit)), 0)


def moved(records):
    """Returns {name: (lowest, highest, unit)} for the rates that differ too much between these points."""
    spans = {}
    for name, unit, metric, limits in RATES:
        rates = [rate for rate in (rate_of(record, metric, limits) for record in records) if rate > 0]
        if rates and max(rates) > (1 + MOVED_SHARE) * min(rates):
            spans[name] = (min(rates), max(rates), unit)
    return spans


def moved_remark(spans):
    """Returns a sentence for the caption on the curves with grey markers; "" if there are none."""
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
    return NAMES.get(value) or os.path.basename(str(value).rstrip("/")) or str(value)


def method_name(record):
    """Returns a method's label in its experiment, else its name with the options that are set."""
    label = record["settings"].get("resolved", {}).get("method_label")
    if label and isinstance(label, str):
        return label
    options = setting(record, "method_options") or {}
    words = ", ".join(key if value is True else f"{key} {value}" for key, value in sorted(options.items()))
    return f"{setting(record, 'method')} ({words})" if words else setting(record, "method")


def tied_axes(run, spec):
    """Returns the axes that change together with the figure's panels: each panel has one value of them."""
    cases, panels = run["settings"].get("cases", []), spec.get("panels")
    if not cases or panels not in cases[0]:
        return []

    def is_tied(axis):
        values = {(json.dumps(case[panels]), json.dumps(case[axis])) for case in cases}
        return len(values) == len({of_panel for of_panel, _ in values})
    axes = sorted(run["settings"]["axes"].keys() & cases[0].keys() - {panels})  # cases may also name a model and a dtype
    return [axis for axis in axes if is_tied(axis)]


def varying_settings(records, run, spec):
    tied = tied_axes(run, spec)
    keys = ["method", "model", "weights", "dtype", "weight_format"] + [axis for axis in sorted(run["settings"]["axes"]) if axis not in tied]

    def text(record, key):  # a method with other options is another method
        return method_name(record) if key == "method" else json.dumps(setting(record, key))
    return [key for key in keys if len({text(record, key) for record in records}) > 1]


def series_name(record, spec, varying):
    """Returns the series' value and everything else that varies, so that no two lines are joined by mistake."""
    apart = (spec["series"], spec["x"], spec.get("panels"))
    keys = [spec["series"]] + [key for key in varying if key not in apart]

    def text(key):
        if key == "method":
            return method_name(record)
        if key in ("model", "weights", "dtype", "weight_format"):
            return short(setting(record, key))
        return f"{key}={setting(record, key)}"
    return ", ".join(text(key) for key in keys)


def in_order(records, name_of_record):
    """Sorts names in the order of the methods in the experiment file."""
    rank = {}
    for record in records:
        rank.setdefault(name_of_record(record), record.get("group", {}).get("index", 0))
    return sorted(rank, key=rank.get)


def unit_of(records, name):
    for record in records:
        if metric := metric_of(record, name):
            return metric["unit"]
    return ""


def invalid_reason(record, metric=""):
    """Returns why a run, or this metric of it, does not count by its kind's rules; "" if it counts or has no rules."""
    return record.get("invalid", "") or (record.get("invalid_speedup", "") if metric == "throughput_speedup" else "")


def values_of(records, run, axis):
    """Returns the records' values of an axis: numbers ascending, words in the order of the experiment file."""
    found = {setting(record, axis) for record in records}
    if not any(isinstance(value, str) for value in found):
        return sorted(found)
    listed = run["settings"]["axes"].get(axis, [])
    return [value for value in listed if value in found] + sorted(found - set(listed))


def panels_of(records, run, spec):
    """Returns [(value, records)] for each value of the setting that splits the figure; without one, a single panel."""
    if not spec.get("panels"):
        return [(None, records)]
    values = values_of(records, run, spec["panels"])
    return [(value, [r for r in records if setting(r, spec["panels"]) == value]) for value in values]


def title_panel(plot, run, spec, value):
    if value is not None:
        plot.set_title(f"{name_of(spec['panels'])}: {panel_name(run, spec, value)}", fontsize=9)


def panel_name(run, spec, value):
    """Returns the panel's value, and those of the axes that change with it."""
    name = short(value) if spec["panels"] == "model" else f"{value}"
    for axis in tied_axes(run, spec):
        of_axis = next((case[axis] for case in run["settings"]["cases"] if case[spec["panels"]] == value), None)
        name += f", {name_of(axis)}: {of_axis}"
    return name


def papers_drawn(document, spec):
    """Returns the papers whose numbers the figure draws. Only the family "lines" draws them, at points where we have the
    metric; papers may also have numbers of means over an axis."""
    if spec.get("family") != "lines":
        return []
    ours = {record.get("point") for record in document["records"] if metric_of(record, spec["y"]) is not None}
    return [paper for paper in document["papers"]
            if any(point in ours and spec["y"] in metrics for point, metrics in paper["points"].items())]


def paper_sentences(papers):
    """Names each source once, even if it has several machines."""
    sources = {}
    for paper in papers:
        sources.setdefault(paper["source"], []).append(paper)
    sentences = [f"{', '.join(paper['label'] for paper in those)}: {source}, on "
                 f"{'; '.join(paper['hardware'] for paper in those)}." for source, those in sources.items()]
    return ["P" + sentence[1:] if sentence.startswith("paper") else sentence for sentence in sentences]


def counted(numbers, thing):
    """Writes numbers for a caption: "8 threads", "1 thread", "1, 2 threads"."""
    return f"{numbers} {thing}{'' if numbers == '1' else 's'}"


def is_shown(record, spec):
    """True if the record has the metrics without which the figure's family does not draw it."""
    if spec.get("family") == "stack":  # a single part is no breakdown; it would look like the whole step
        return sum(name in record["metrics"] for name in spec["stack"]) > 1
    names = [spec.get("y", "")] + ([spec["against"]] if spec.get("family") == "pareto" else [])
    return all(metric_of(record, name) is not None for name in names)


def drawn_metrics(records, spec):
    """Returns [(record, metric)] for the metrics that the figure draws; of a percentile, the metric it belongs to."""
    names = spec["stack"] if spec.get("family") == "stack" else [spec.get("y", "")]
    return [(record, record["metrics"][split_metric_name(name)[0]]) for record in records if is_shown(record, spec)
            for name in names if metric_of(record, name) is not None]


def text_of_taking(records, spec, has_bands):
    """Says what a point of the figure is: "median of 5 repetitions, band: quartiles"; "" if it summarises no samples."""
    sampled = [(record, metric) for record, metric in drawn_metrics(records, spec) if "count" in metric]
    if not sampled or spec.get("family") == "timeline":  # its points are the samples themselves
        return ""
    percentile = split_metric_name(spec.get("y", ""))[1]
    # A serving run's samples are the requests of one repetition.
    if all(metric["count"] == setting(record, "repetitions") and not metric.get("population") for record, metric in sampled):
        taken = counted(different([record for record, _ in sampled], lambda r: setting(r, "repetitions")), "repetition")
    else:
        taken = f"up to {max(metric['count'] for _, metric in sampled)} samples"
    if percentile or taken != "1 repetition":  # one number is its own median
        taken = f"{percentile or 'median'} of {taken}"
    return taken + (", band: quartiles" if has_bands else "")


def different(records, get):
    return ", ".join(sorted({str(get(record)) for record in records}))


def processors_text(record):
    """Returns the processor, after the GPU if the points were computed on one."""
    machine = record["machine"]
    gpu = f"{machine['device'].get('name', 'unknown GPU')} with " if "device" in machine else ""
    return gpu + machine.get("cpu", "unknown processor")


def origin_of(records, taken):
    """Returns what a reader needs to judge the numbers: model or shape, dtype, machine, seeds and revision."""
    first = records[0]

    def values(key):
        return different(records, lambda r: setting(r, key))
    subject = ""
    if setting(first, "model"):
        subject = f"{different(records, lambda r: short(setting(r, 'model')))} ({values('weights')} weights), "
    elif setting(first, "heads"):
        subject = f"one layer of {values('heads')} heads of {values('head_dim')}, "
    machine = different(records, processors_text)
    revision = different(records, lambda r: r["provenance"].get("revision", "unknown")[:12]
                         + (" (modified)" if r["provenance"].get("dirty") else ""))
    seeds = ", ".join(f"{name} {seed}" for name, seed in sorted(first["seeds"].items()))
    formats = f", weights {values('weight_format')}" if setting(first, "weight_format") else ""
    return (f"{subject}{values('dtype')}{formats}; {machine}, {counted(values('threads'), 'thread')}, {values('isa')}; "
            f"{taken + '; ' if taken else ''}seeds: {seeds}; revision {revision}.")


def reservations_of(records):
    """Returns a sentence for each reservation about VALID runs, with the number of points that it is about."""
    texts = [text for record in records for text in record.get("reservations", [])]
    return [f"{text[:1].upper()}{text[1:]}: {texts.count(text)} of {len(records)} points." for text in sorted(set(texts))]


# What becomes of INVALID runs in a figure of a family. Other families draw them like all runs, or name them in the legend.
INVALID_RUNS = dict.fromkeys(("lines", "pareto", "stack"), ", and crossed out") | {"map": ", and left out; nothing is called fastest there"}


def gaps_of(document, spec):
    """Returns sentences on points that the figure omits, or shows although they do not count."""
    records, run = document["records"], document["run"]
    sentences = []
    if few := too_few(records, spec.get("y", "")):
        sentences.append(f"Left out for want of samples: {few} of {len(records)} points.")
    if invalid := {id(record) for record, _ in drawn_metrics(records, spec)
                  if invalid_reason(record, spec.get("y", ""))}:
        what = INVALID_RUNS.get(spec.get("family"), "")
        sentences.append(f"INVALID by their own rules{what}: {len(invalid)} of {len(records)} points.")
    sentences += reservations_of(records)
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
    """Caption of a separate figure: the origin of its numbers, and what it does not show."""
    records = document["records"]
    sentences = [origin_of(records, text_of_taking(records, spec, has_bands))]
    sentences += paper_sentences(papers_drawn(document, spec))
    sentences += gaps_of(document, spec)
    return " ".join(sentences + [text for text in (remark, spec.get("note", "")) if text])


def page_caption_of(document, spec, has_bands=True, remark=""):
    """Caption of a figure on a page that states the origin of all numbers, and the note, only once."""
    taken = text_of_taking(document["records"], spec, has_bands)
    sentences = [taken[0].upper() + taken[1:] + "."] if taken else []
    sentences += paper_sentences(papers_drawn(document, spec))
    return " ".join(sentences + gaps_of(document, spec) + ([remark] if remark else []))
