"""Draws family "map": a speedup over the first method (1: equal) over two axes. There is a map for each other method and one
that names the fastest, grey where several tie. Losses are as visible as gains."""
import re
import textwrap

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import ListedColormap, LogNorm, to_rgb
from matplotlib.patches import Rectangle
from matplotlib.ticker import FixedLocator, FuncFormatter

import common


# Methods whose values are this close are not distinguished by one run, even if their quartiles do not overlap.
TIE_SHARE = 0.03


class Grid:
    """Values [rows, columns], NaN if not measured or INVALID, with quartiles and marks of noise and INVALID runs."""

    def __init__(self, shape):
        self.value, self.low, self.high = (np.full(shape, np.nan) for _ in range(3))
        self.is_noisy, self.is_invalid = (np.zeros(shape, dtype=bool) for _ in range(2))

    def put(self, place, metric):
        self.value[place] = metric["value"]
        self.low[place] = metric.get("q1", metric["value"])
        self.high[place] = metric.get("q3", metric["value"])
        self.is_noisy[place] = common.is_noisy(metric)


def is_first(record):
    return record.get("group", {}).get("index", 0) == 0


def ratio_of(record, spec):
    """Returns a record's ratio. The first method, to which the ratios refer, has 1 if it has no such metric."""
    return common.metric_of(record, spec["y"]) or ({"value": 1.0} if is_first(record) else None)


def cells(records, spec, columns, rows):
    grid = Grid((len(rows), len(columns)))
    for record in records:
        metric = ratio_of(record, spec)
        if metric is None:
            continue
        place = (rows.index(common.setting(record, spec["rows"])), columns.index(common.setting(record, spec["x"])))
        if not np.isnan(grid.value[place]) or grid.is_invalid[place]:
            raise common.CannotDraw(f"figure {spec['name']}: several records share one place of the map; "
                                    "name the axis that tells them apart in \"panels\"")
        if common.invalid_reason(record, spec["y"]):
            grid.is_invalid[place] = True
        else:
            grid.put(place, metric)
    return grid


def label_axes(plot, run, spec, columns, rows, is_left, is_bottom):
    plot.set_xticks(range(len(columns)), columns if is_bottom else [], fontsize=7, rotation=45, ha="right")
    plot.set_yticks(range(len(rows)), rows if is_left else [], fontsize=7)
    plot.tick_params(length=0)
    units = run.get("axis_units", {})
    if is_bottom:
        plot.set_xlabel(common.label_of(spec["x"], units.get(spec["x"], "")), fontsize=8)
    if is_left:
        plot.set_ylabel(common.name_of(spec["rows"]), fontsize=8)


def draw_values(plot, grid, norm):
    image = plot.imshow(grid.value, cmap="RdBu", norm=norm, origin="lower", aspect="auto")
    for (row, column), value in np.ndenumerate(grid.value):
        if np.isnan(value):
            continue
        is_dark = abs(np.log(value)) > 0.6 * np.log(norm.vmax)
        text = f"{value:.2g}" if value < 9.95 else f"{value:.0f}"
        if grid.is_noisy[row, column]:
            plot.add_patch(Rectangle((column - 0.5, row - 0.5), 1, 1, fill=False, hatch="////", linewidth=0,
                                     edgecolor="#999999"))
        plot.text(column, row, text + ("*" if grid.is_noisy[row, column] else ""), ha="center", va="center",
                  fontsize=6.5, color="white" if is_dark else "black")
    return image


def fastest_of(grids, names, place):
    """Returns the best method and those that a single run cannot distinguish from it; none if a method's run is INVALID."""
    measured = [name for name in names if not np.isnan(grids[name].value[place])]
    if not measured or any(grids[name].is_invalid[place] for name in names):
        return []
    best = max(measured, key=lambda name: grids[name].value[place])

    def ties(name):
        is_near = grids[name].value[place] >= (1 - TIE_SHARE) * grids[best].value[place]
        return is_near or grids[name].high[place] >= grids[best].low[place]
    return [name for name in measured if ties(name)]


def initials_of(names):
    """Abbreviates names to their words' initials, or keeps them if the initials are ambiguous or a name has no word."""
    short = ["".join(word[0] for word in re.split(r"[\W_]+", name) if word).upper() for name in names]
    return dict(zip(names, short if all(short) and len(set(short)) == len(names) else names))


def pale(color):
    """Mixes a colour with white. Transparency would make black letters unreadable on a dark page."""
    return tuple(0.65 * part + 0.35 for part in to_rgb(color))


def draw_fastest(plot, grids, names):
    """Draws the fastest method's colour at each place; grey means that the methods with the initials shown tie."""
    initials = initials_of(names)
    shape = grids[names[0]].value.shape
    tie = len(names)
    best = np.full(shape, np.nan)
    for place in np.ndindex(shape):
        fastest = fastest_of(grids, names, place)
        if not fastest:
            continue
        best[place] = names.index(fastest[0]) if len(fastest) == 1 else tie
        words = [initials[name] + ("*" if grids[name].is_noisy[place] else "") for name in fastest]
        text = "\n".join(" ".join(words[i:i + 3]) for i in range(0, len(words), 3))
        plot.text(place[1], place[0], text, ha="center", va="center", fontsize=5.5, linespacing=0.95, color="black")
    styles = common.styles_of(names)
    colors = ListedColormap([pale(color) for color in [styles[name][0] for name in names] + ["#C8C8C8"]])
    plot.imshow(best, cmap=colors, vmin=-0.5, vmax=tie + 0.5, origin="lower", aspect="auto")


def bar_ticks(norm):
    """Chooses round ratios inside the colour bar, at least a fifth of its length apart."""
    span = np.log(norm.vmax / norm.vmin)
    ticks = []
    for tick in (1, 0.1, 0.2, 0.5, 2, 5, 10, 20, 50, 0.7, 1.4, 0.9, 1.1):
        inside = norm.vmin <= tick <= norm.vmax
        if inside and all(abs(np.log(tick / other)) > 0.1 * span for other in ticks):
            ticks.append(tick)
    return sorted(ticks)


def draw(document, spec):
    records, run = document["records"], document["run"]
    if all(common.invalid_reason(record, spec["y"]) for record in records if common.metric_of(record, spec["y"]) is not None):
        return None
    shown = [record for record in records if ratio_of(record, spec) is not None]
    names = common.in_order(shown, common.method_name)
    columns = common.values_of(shown, run, spec["x"])
    rows = common.values_of(shown, run, spec["rows"])
    panels = common.panels_of(shown, run, spec)
    grids = [{name: cells([r for r in inside if common.method_name(r) == name], spec, columns, rows) for name in names}
             for _, inside in panels]
    values = np.stack([grid.value for panel in grids for grid in panel.values()])
    if np.nanmin(values) <= 0:
        raise common.CannotDraw(f"figure {spec['name']}: a map of ratios needs values above 0, "
                                f"{spec['y']} has {np.nanmin(values):g}")
    largest = np.nanmax(np.abs(np.log(values)))
    norm = LogNorm(vmin=np.exp(-max(largest, 0.1)), vmax=np.exp(max(largest, 0.1)))
    firsts = {common.method_name(record) for record in shown if is_first(record)}
    others = [name for name in names if name not in firsts]
    lines = len(others) + (1 if others else 0)
    width = max(2.4, 0.42 * len(columns))  # inches per map
    figure, plots = plt.subplots(max(lines, 1), len(panels), squeeze=False, layout="constrained",
                                 figsize=(1.6 + width * len(panels),
                                          0.8 + max(1.5, 0.3 * len(rows)) * max(lines, 1)))
    image = None
    for column, (value, _) in enumerate(panels):
        for line, name in enumerate(others or names):
            image = draw_values(plots[line][column], grids[column][name], norm)
            title_map(plots[line][column], run, spec, name, value, width)
        if others:
            draw_fastest(plots[-1][column], grids[column], names)
            title_map(plots[-1][column], run, spec, "fastest", value, width)
        for line in range(len(plots)):
            label_axes(plots[line][column], run, spec, columns, rows, column == 0, line == len(plots) - 1)
    bar = figure.colorbar(image, ax=plots, shrink=0.6, pad=0.02)
    bar.set_label(common.metric_label(shown, spec["y"]), fontsize=8)
    bar.ax.minorticks_off()
    bar.ax.tick_params(labelsize=7)
    bar.ax.yaxis.set_major_locator(FixedLocator(bar_ticks(norm)))
    bar.ax.yaxis.set_major_formatter(FuncFormatter(lambda number, _: f"{number:g}"))
    return figure, remark_on(grids, names, bool(others))


def remark_on(grids, names, has_fastest):
    """Explains initials, grey places and hatched places in the caption."""
    sentences = []
    if has_fastest:
        key = ", ".join(f"{short} {name}" for name, short in initials_of(names).items() if short != name)
        sentences.append("Fastest: " + (key + "; " if key else "") + "grey where they tie.")
    if any(grid.is_noisy.any() for panel in grids for grid in panel.values()):
        sentences.append("* and hatched: noisy, or samples lost their cores.")
    return " ".join(sentences)


def title_map(plot, run, spec, name, value, width):
    """Writes the method and the panel's value, wrapped to the map's width."""
    title = name if value is None else f"{name}, {common.name_of(spec['panels'])} {common.panel_name(run, spec, value)}"
    plot.set_title(textwrap.fill(title, int(15 * width)), fontsize=8)
