"""Draws family "attention": attention maps stored in records, those of two texts one above the other, for each value of
an axis and each method."""
import textwrap

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import PowerNorm

import common


class Shown:
    """Returns a record's maps: the head, the two texts, and weights [2, tokens, tokens] with one row per query."""

    def __init__(self, maps):
        self.head, self.texts, tokens = maps["head"], maps["texts"], maps["tokens"]
        self.weights = np.array(maps["weights_permille"], dtype=float).reshape(2, tokens, tokens) / 1000


def maps_of(record):
    maps = record.get("answers", {}).get("maps")
    return Shown(maps) if maps else None


def places_of(shown, spec, columns, names):
    """Returns {(line, column): record}: where the figure shows each method and axis value."""
    places = {}
    for record in shown:
        place = (names.index(common.method_name(record)), columns.index(common.setting(record, spec["x"])))
        if place in places:
            raise common.CannotDraw(f"figure {spec['name']}: several records share one place; choose one model and one "
                                    "data type with --set")
        places[place] = record
    return places


def draw_map(plot, weights, norm):
    image = plot.imshow(weights, cmap="viridis", norm=norm, interpolation="nearest")
    plot.set_xticks([])
    plot.set_yticks([])
    return image


def draw(document, spec):
    records, run = document["records"], document["run"]
    shown = [record for record in records if maps_of(record) and common.metric_of(record, spec["y"]) is not None]
    if not shown:
        return None
    names = common.in_order(shown, common.method_name)
    columns = common.values_of(shown, run, spec["x"])
    figure, plots = plt.subplots(2 * len(names), len(columns), squeeze=False, layout="constrained",
                                 figsize=(1.2 + 1.5 * max(2, len(columns)), 0.6 + 3.3 * len(names)))
    for plot in plots.flat:
        plot.set_axis_off()
    norm, image = PowerNorm(0.5, vmin=0, vmax=1), None  # scaled by the root, since most weights are small
    for (line, column), record in sorted(places_of(shown, spec, columns, names).items()):
        maps = maps_of(record)
        for text in range(2):
            plot = plots[2 * line + text][column]
            plot.set_axis_on()
            image = draw_map(plot, maps.weights[text], norm)
            if column == 0:
                plot.set_ylabel(textwrap.fill(maps.texts[text], 24), fontsize=6)
        distance = common.metric_of(record, spec["y"])["value"]
        plots[2 * line][column].set_title(f"{common.name_of(spec['x'])} {columns[column]}, head {maps.head}\n"
                                          f"{names[line]}: {distance:.2f} apart", fontsize=7)
    bar = figure.colorbar(image, ax=plots, shrink=0.5, pad=0.02)
    bar.set_label("weight, by its root", fontsize=8)
    bar.ax.tick_params(labelsize=7)
    remark = "A query's weights are a row."
    if all(common.setting(record, "head") in (None, -1) for record in shown):   # no head was asked for
        remark += " Of each value, the head whose maps are most alike over all pairs."
    return figure, remark
