#!/usr/bin/env python3
"""Draws the figures of a results folder: reads records.jsonl and run.json, writes figures/*.pdf and *.png."""
import argparse
import json
import os
import sys
import textwrap

import matplotlib

matplotlib.use("Agg")  # no display
import matplotlib.pyplot as plt
import matplotlib.ticker as ticker

# Eight colours that stay apart for colour-blind readers (Okabe and Ito's palette, without its yellow),
# each with a marker of its own so that a grey print can be read too.
STYLES = [("#0072B2", "o"), ("#D55E00", "s"), ("#009E73", "^"), ("#CC79A7", "D"),
          ("#E69F00", "v"), ("#56B4E9", "P"), ("#000000", "X")]
DPI = 200

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
}


def fail(message):
    sys.exit("reprise_plot: " + message)


def read_json(path):
    try:
        with open(path, encoding="utf-8") as file:
            return json.load(file)
    except (OSError, ValueError) as error:
        fail(f"cannot read {path}: {error}")


def read_records(folder):
    """Whole lines of records.jsonl; what follows the last line break was cut off while it was written."""
    path = os.path.join(folder, "records.jsonl")
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read()
    except (OSError, ValueError) as error:
        fail(f"cannot read {path}: {error}")
    records = []
    for number, line in enumerate(text[: text.rfind("\n") + 1].splitlines(), 1):
        try:
            records.append(json.loads(line))
        except ValueError as error:
            fail(f"{path} line {number} is damaged: {error}")
    if not records:
        fail(f"{path} holds no complete record")
    return records


def setting(record, name):
    return record["settings"]["requested"].get(name)


def label_of(name, unit):
    words = LABELS.get(name, name.replace("_", " "))
    return f"{words} [{unit}]" if unit and unit != "ratio" else words


def series_name(record, spec, varying):
    """The series' value, and whatever else varies, so that no two lines are silently joined."""
    keys = [spec["series"]] + [key for key in varying if key not in (spec["series"], spec["x"])]
    return ", ".join(short(setting(record, key)) if key in ("method", "model", "dtype")
                     else f"{key}={setting(record, key)}" for key in keys)


def short(value):
    return os.path.basename(str(value).rstrip("/")) or str(value)


def varying_settings(records, axes):
    keys = ["method", "model", "dtype"] + sorted(axes)
    return [key for key in keys if len({json.dumps(setting(record, key)) for record in records}) > 1]


def collect(records, spec, axes):
    """{series: [(x, value, low, high)]} sorted by x; low and high are the quartiles."""
    varying = varying_settings(records, axes)
    lines = {}
    for record in records:
        metric = record["metrics"].get(spec["y"])
        if metric is None:
            continue
        value = metric["value"]
        point = (setting(record, spec["x"]), value, metric.get("q1", value), metric.get("q3", value))
        lines.setdefault(series_name(record, spec, varying), []).append(point)
    return {name: sorted(points) for name, points in lines.items()}


def unit_of(records, name):
    for record in records:
        if name in record["metrics"]:
            return record["metrics"][name]["unit"]
    return ""


def caption_of(records, run):
    """Model, dtype, machine, seeds and revision: what a reader needs to judge the numbers."""
    def values(get):
        return ", ".join(sorted({str(get(record)) for record in records}))
    first = records[0]
    machine = values(lambda r: r["machine"].get("cpu", "unknown processor"))
    weights = values(lambda r: setting(r, "weights"))
    revision = values(lambda r: r["provenance"].get("revision", "unknown")[:12]
                      + (" (modified)" if r["provenance"].get("dirty") else ""))
    seeds = ", ".join(f"{name} {seed}" for name, seed in sorted(first["seeds"].items()))
    text = (f"{values(lambda r: short(setting(r, 'model')))} ({weights} weights), {values(lambda r: setting(r, 'dtype'))}; "
            f"{machine}, {values(lambda r: setting(r, 'threads'))} threads, {values(lambda r: setting(r, 'isa'))}; "
            f"median of {values(lambda r: setting(r, 'repetitions'))} repetitions, band: quartiles; "
            f"seeds: {seeds}; revision {revision}.")
    note = run.get("caption", {}).get("note", "")
    return text + (" " + note if note else "")


def draw_lines(records, run, spec):
    """Family "lines": one metric against one axis, a line for each series with its quartiles as a band."""
    axes = run["settings"]["axes"]
    lines = collect(records, spec, axes)
    if not lines:
        return None
    figure, plot = plt.subplots(figsize=(7, 4.6))
    for index, (name, points) in enumerate(lines.items()):
        color, marker = STYLES[index % len(STYLES)]
        x, value, low, high = zip(*points)
        dash = "-" if index < len(STYLES) else "--"
        plot.plot(x, value, dash, color=color, marker=marker, markersize=5, label=name)
        plot.fill_between(x, low, high, color=color, alpha=0.2, linewidth=0)
    if spec["log_x"]:
        plot.set_xscale("log", base=2)
        ticks = sorted({point[0] for points in lines.values() for point in points})
        if len(ticks) <= 12:
            plot.set_xticks(ticks)
            plot.set_xticks([], minor=True)
        plot.xaxis.set_major_formatter(ticker.ScalarFormatter())
    if spec["log_y"]:
        plot.set_yscale("log")
        low, high = plot.get_ylim()
        if high < 100 * low:  # else a figure within one decade has a single number on its axis
            plot.yaxis.set_major_locator(ticker.LogLocator(base=10, subs=(1, 2, 5)))
            plot.yaxis.set_minor_formatter(ticker.NullFormatter())
        plot.yaxis.set_major_formatter(ticker.FuncFormatter(lambda value, _: f"{value:g}"))
    else:
        plot.set_ylim(bottom=0)
    plot.set_xlabel(label_of(spec["x"], run.get("axis_units", {}).get(spec["x"], "")))
    plot.set_ylabel(label_of(spec["y"], unit_of(records, spec["y"])))
    plot.grid(True, which="major", linewidth=0.4, alpha=0.6)
    plot.spines[["top", "right"]].set_visible(False)
    plot.legend(frameon=False, loc="upper left", bbox_to_anchor=(1.01, 1))  # beside: bands reach everywhere
    return figure


FAMILIES = {"lines": draw_lines}


def finish(figure, records, run, spec, stem):
    """Title above, caption below, and both files."""
    caption = run.get("caption", {})
    origin = ", ".join(part for part in (caption.get("paper", ""), caption.get("figure", "")) if part)
    title = textwrap.fill(spec["title"], 70)
    figure.axes[0].set_title(title + (f"\n(after {origin})" if origin else ""), fontsize=11)
    figure.text(0.02, -0.02, textwrap.fill(caption_of(records, run), 115), fontsize=7, va="top",
                color="#444444")
    figure.tight_layout()
    for suffix in ("pdf", "png"):
        figure.savefig(f"{stem}.{suffix}", dpi=DPI, bbox_inches="tight")
        print(f"figure: {stem}.{suffix}")
    plt.close(figure)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", help="what `reprise run` wrote")
    folder = parser.parse_args().folder
    run = read_json(os.path.join(folder, "run.json"))
    records = read_records(folder)
    target = os.path.join(folder, "figures")
    os.makedirs(target, exist_ok=True)
    for spec in run.get("plots", []):
        if spec["family"] not in FAMILIES:
            fail(f"unknown figure family {spec['family']}; known: {', '.join(FAMILIES)}")
        figure = FAMILIES[spec["family"]](records, run, spec)
        if figure is None:
            print(f"no record has {spec['y']}: figure {spec['name']} is left out", file=sys.stderr)
            continue
        finish(figure, records, run, spec, os.path.join(target, spec["name"]))


if __name__ == "__main__":
    main()
