#!/usr/bin/env python3
"""Draws the figures of a results folder: reads records.jsonl and run.json, writes figures/*.pdf and *.png."""
import argparse
import os
import sys
import textwrap

import matplotlib

matplotlib.use("Agg")  # no display
import matplotlib.pyplot as plt

import common
import heat_map
import lines
import stack

DPI = 200

# draw(records, run, paper, spec) gives a figure, or None where no record has what it shows.
FAMILIES = {"lines": lines.draw, "map": heat_map.draw, "stack": stack.draw}


def finish(figure, records, run, paper, spec, stem):
    """Title above, caption below, and both files."""
    caption = run.get("caption", {})
    origin = ", ".join(part for part in (caption.get("paper", ""), caption.get("figure", "")) if part)
    width = figure.get_figwidth()
    title = textwrap.fill(spec["title"], int(10 * width)) + (f"\n(after {origin})" if origin else "")
    if figure.get_layout_engine() is None:
        figure.tight_layout()
    figure.canvas.draw()
    top = max(plot.get_tightbbox().ymax for plot in figure.axes) / figure.bbox.height
    figure.text(0.5, top + 0.02, title, fontsize=11, ha="center", va="bottom")
    figure.text(0.02, -0.02, textwrap.fill(common.caption_of(records, run, paper), int(16.5 * width)), fontsize=7, va="top",
                color="#444444")
    for suffix in ("pdf", "png"):
        figure.savefig(f"{stem}.{suffix}", dpi=DPI, bbox_inches="tight")
        print(f"figure: {stem}.{suffix}")
    plt.close(figure)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", help="what `reprise run` wrote")
    folder = parser.parse_args().folder
    run = common.read_json(os.path.join(folder, "run.json"))
    records = common.read_records(folder)
    paper = common.read_paper(folder)
    target = os.path.join(folder, "figures")
    os.makedirs(target, exist_ok=True)
    for spec in run.get("plots", []):
        if spec["family"] not in FAMILIES:
            common.fail(f"unknown figure family {spec['family']}; known: {', '.join(FAMILIES)}")
        figure = FAMILIES[spec["family"]](records, run, paper, spec)
        if figure is None:
            print(f"no record has {spec['y']}: figure {spec['name']} is left out", file=sys.stderr)
            continue
        finish(figure, records, run, paper, spec, os.path.join(target, spec["name"]))


if __name__ == "__main__":
    main()
