#!/usr/bin/env python3
"""Draws the figures of a document that `reprise run` and `reprise plot` write for it: *.pdf and *.png."""
import argparse
import os
import re
import signal
import textwrap

signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C ends it, without a traceback

import matplotlib

matplotlib.use("Agg")  # no display
import matplotlib.pyplot as plt

import common
import heat_map
import lines
import stack

DPI = 200

# draw(document, spec) gives (figure, remark for its caption), or None where no record has what it shows.
FAMILIES = {"lines": lines.draw, "map": heat_map.draw, "stack": stack.draw}


# What a figure's files may be called: a folder of results may come from anywhere.
FIGURE_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}")


def plain(text):
    """Without control characters, and without what matplotlib would read as mathematics."""
    return "".join(c for c in str(text) if c.isprintable()).replace("$", r"\$")


def finish(figure, remark, document, spec, stem):
    """Title above, caption below, and both files."""
    source = document["run"].get("caption", {})
    origin = ", ".join(part for part in (source.get("paper", ""), source.get("figure", "")) if part)
    width = figure.get_figwidth()
    title = textwrap.fill(plain(spec["title"] + (f" (after {origin})" if origin else "")), int(8.5 * width))
    has_bands = spec["family"] == "lines" and common.has_band(document["records"], spec["y"])
    caption = common.caption_of(document, spec, has_bands, remark)
    if figure.get_layout_engine() is None:
        figure.tight_layout()
    figure.canvas.draw()
    top = max(plot.get_tightbbox().ymax for plot in figure.axes) / figure.bbox.height
    figure.text(0.5, top + 0.02, title, fontsize=11, ha="center", va="bottom")
    figure.text(0.02, -0.025, textwrap.fill(plain(caption), int(16.5 * width)), fontsize=7, va="top",
                color="#444444")
    for suffix in ("pdf", "png"):
        figure.savefig(f"{stem}.{suffix}", dpi=DPI, bbox_inches="tight")
        common.note(f"figure: {stem}.{suffix}")
    plt.close(figure)


def draw(document, spec, target):
    """One figure; what is wrong with it is said in a sentence, and the others are drawn."""
    name = spec["name"]
    if not isinstance(name, str) or not FIGURE_NAME.fullmatch(name):
        common.fail(f"a figure cannot be called {name!r}: letters, digits, '_', '-' and '.' are allowed")
    if spec["family"] not in FAMILIES:
        common.fail(f"figure {name}: unknown family {spec['family']}; known: {', '.join(FAMILIES)}")
    drawn = FAMILIES[spec["family"]](document, spec)
    if drawn is None:
        why = " (too few samples)" if common.too_few(document["records"], spec["y"]) else ""
        common.note(f"no record has {spec['y']}{why}: figure {name} is left out")
        return
    finish(*drawn, document, spec, os.path.join(target, name))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("document", help="what `reprise plot` writes; draw a folder with that command")
    parser.add_argument("--out", required=True, help="folder for the figures")
    options = parser.parse_args()
    document = common.read_document(options.document)
    source = document["source"]
    try:
        os.makedirs(options.out, exist_ok=True)
        for spec in document["run"].get("plots", []):
            draw(document, spec, options.out)
    except OSError as error:
        common.fail(f"cannot write to {options.out}: {error.strerror}; name another folder with --out")
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
        common.fail(f"{source} holds results that cannot be drawn ({type(error).__name__}: {error})")


if __name__ == "__main__":
    main()
