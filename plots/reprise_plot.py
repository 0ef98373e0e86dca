#!/usr/bin/env python3
"""Draws the figures of a document that `reprise run`, `reprise plot` and `reprise report` write for it: *.pdf and *.png
files, or parts of a page."""
import argparse
import json
import os
import re
import signal
import sys
import tempfile
import textwrap
import warnings

signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C ends the script without a traceback

import matplotlib

matplotlib.use("Agg")  # works without a display
import matplotlib.pyplot as plt

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))  # where PYTHONSAFEPATH keeps Python from looking
import attention
import common
import heat_map
import lines
import page
import pareto
import rate_figures
import stack
import timeline

DPI = 200
UMASK = os.umask(0)  # the umask can only be read by setting it
os.umask(UMASK)

# draw(document, spec) returns (figure, remark for its caption), or None if no record has the metric.
FAMILIES = {"lines": lines.draw, "map": heat_map.draw, "stack": stack.draw, "pareto": pareto.draw,
            "attention": attention.draw, "timeline": timeline.draw}

# The exceptions that drawing raises for a malformed document. An SVG that cannot be parsed is a SyntaxError.
FAULTS = (ArithmeticError, AttributeError, LookupError, MemoryError, RecursionError, SyntaxError, TypeError, ValueError)


# Accepted names of figures' files, since a results folder may come from anywhere.
FIGURE_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}")


def printable(text):
    return "".join(c for c in str(text) if c.isprintable())


def title_of(document, spec):
    source = document["run"].get("caption", {})
    origin = ", ".join(part for part in (source.get("paper", ""), source.get("figure", "")) if part)
    return printable(spec["title"] + (f" (after {origin})" if origin else ""))


def has_bands(document, spec):
    return spec["family"] == "lines" and common.has_band(document["records"], spec["y"])


def places_its_parts(figure):
    """True if the figure arranges itself when it is drawn. Matplotlib before 3.6 has another name for this."""
    if hasattr(figure, "get_layout_engine"):
        return figure.get_layout_engine() is not None
    return figure.get_constrained_layout()


def drawn(document, spec):
    """Returns (figure, remark) with all parts arranged, or None."""
    if spec["family"] not in FAMILIES:
        raise common.CannotDraw(f"figure {spec['name']}: unknown family {spec['family']}; known: {', '.join(FAMILIES)}")
    made = FAMILIES[spec["family"]](document, spec)
    if made is not None and not places_its_parts(made[0]):
        made[0].tight_layout()
    return made


def text_of_nothing(document, spec):
    records = document["records"]
    if spec["family"] == "stack":
        return f"no record has two of {', '.join(spec['stack'])}: figure {spec['name']} is left out"
    why = " (too few samples)" if common.too_few(records, spec["y"]) else ""
    if spec["family"] == "map" and any(common.metric_of(record, spec["y"]) for record in records):
        why = " in a VALID run"
    if spec["family"] == "timeline" and any(common.metric_of(record, spec["y"]) for record in records):
        why = " to compare with the first method's, request by request"
    return f"no record has {spec['y']}{why}: figure {spec['name']} is left out"


def save(figure, path, suffix):
    """Writes a temporary file and renames it, so that a link of that name is replaced and not followed."""
    handle, beside = tempfile.mkstemp(prefix=os.path.basename(path) + ".", suffix=".unfinished", dir=os.path.dirname(path))
    try:
        with os.fdopen(handle, "wb") as file:
            figure.savefig(file, format=suffix, dpi=DPI, bbox_inches="tight")
        os.chmod(beside, 0o666 & ~UMASK)
        os.replace(beside, path)
    except BaseException:
        os.unlink(beside)
        raise


def finish(figure, remark, document, spec, stem):
    """Adds title and caption and writes both files."""
    width = figure.get_figwidth()
    title = textwrap.fill(title_of(document, spec), int(8.5 * width))
    caption = printable(common.caption_of(document, spec, has_bands(document, spec), remark))
    figure.canvas.draw()
    top = max(plot.get_tightbbox(figure.canvas.get_renderer()).ymax for plot in figure.axes) / figure.bbox.height
    figure.text(0.5, top + 0.02, title, fontsize=11, ha="center", va="bottom")
    figure.text(0.02, -0.025, textwrap.fill(caption, int(16.5 * width)), fontsize=7, va="top", color="#444444")
    for suffix in ("pdf", "png"):
        save(figure, f"{stem}.{suffix}", suffix)
        common.note(f"figure: {stem}.{suffix}")


def draw(document, spec, target):
    """Draws one figure. Raises CannotDraw, so that the other figures are still drawn."""
    name = spec["name"]
    if not isinstance(name, str) or not FIGURE_NAME.fullmatch(name):
        raise common.CannotDraw(f"a figure cannot be called {name!r}: letters, digits, '_', '-' and '.' are allowed")
    try:
        made = drawn(document, spec)
        if made is None:
            common.note(text_of_nothing(document, spec))
            return
        finish(*made, document, spec, os.path.join(target, name))
    except FAULTS as error:
        raise common.CannotDraw(f"figure {name} cannot be drawn ({type(error).__name__}: {error})") from error
    finally:
        plt.close("all")


def problem_of(spec, sentence):
    """Returns what a page gets in place of a figure that cannot be drawn."""
    return {"name": spec["name"], "title": common.plain(printable(spec["title"])), "problem": common.plain(sentence)}


def part_of_page(document, spec):
    """Returns {name, title, caption, svg or png, width_px}, or problem_of() if the figure cannot be drawn.
    The page itself names the paper."""
    try:
        made = drawn(document, spec)
        if made is None:
            return problem_of(spec, text_of_nothing(document, spec))
        figure, remark = made
        caption = common.page_caption_of(document, spec, has_bands(document, spec), remark)
        prefix, title = f"{document.get('prefix', '')}{spec['name']}-", common.plain(printable(spec["title"]))
        return {"name": spec["name"], "title": title, "caption": common.plain(printable(caption)),
                **page.picture_of(figure, prefix, title)}
    except common.CannotDraw as error:
        return problem_of(spec, str(error))
    except FAULTS as error:
        return problem_of(spec, f"It cannot be drawn ({type(error).__name__}: {error}).")
    finally:
        plt.close("all")


def draw_for_page(document):
    """Prints all figures as JSON on standard output."""
    matplotlib.rcParams.update(page.LOOK)
    # Glyphs missing in matplotlib's font are left to the reader's browser, and the page scrolls wide figures.
    warnings.filterwarnings("ignore", category=UserWarning)
    run, records = document["run"], document["records"]
    parts = [part_of_page(document, spec) for spec in run["plots"]]
    for spec in rate_figures.rate_figures(run, records):
        fault = rate_figures.misplaced(records, spec)
        parts.append(problem_of(spec, fault) if fault else part_of_page(document, spec))
    json.dump({"figures": parts}, sys.stdout)


def draw_files(document, target):
    try:
        os.makedirs(target, exist_ok=True)
        has_problem = False
        for spec in document["run"].get("plots", []):
            try:
                draw(document, spec, target)
            except common.CannotDraw as error:
                common.note(f"reprise_plot: {error}")
                has_problem = True
        if has_problem:
            sys.exit(1)
    except OSError as error:
        common.fail(f"cannot write to {target}: {error.strerror}; name another folder with --out")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("document", help="what `reprise plot` writes; draw a folder with that command")
    where = parser.add_mutually_exclusive_group(required=True)
    where.add_argument("--out", help="folder for the figures")
    where.add_argument("--page", action="store_true", help="print the figures as parts of a page, in JSON")
    options = parser.parse_args()
    document = common.read_document(options.document)
    try:
        common.take_names(document["records"])
        if options.page:
            draw_for_page(document)
        else:
            draw_files(document, options.out)
    except FAULTS as error:
        common.fail(f"{document['source']} holds results that cannot be drawn ({type(error).__name__}: {error})")


if __name__ == "__main__":
    main()
