"""Draws family "lines": one metric against one axis, a line per series with its quartiles as a band."""
import matplotlib.pyplot as plt
import matplotlib.ticker as ticker
from matplotlib.lines import Line2D

import common


def place_of(record, spec, words):
    """Returns a record's x coordinate: the number itself, or a word's index in `words`."""
    x = common.setting(record, spec["x"])
    return words.index(x) if words else x


def words_of(records, run, spec):
    """Returns the values of the x axis if they are words, else an empty list."""
    values = common.values_of(records, run, spec["x"])
    return values if any(isinstance(value, str) for value in values) else []


def collect(records, spec, varying, words, value_of):
    """Returns {series: [(x, value, low, high, is_noisy)]} sorted by x. value_of(record) is a metric, or None to omit it."""
    lines = {}
    for record in records:
        metric = value_of(record)
        if metric is None:
            continue
        value = metric["value"]
        point = (place_of(record, spec, words), value, metric.get("q1", value), metric.get("q3", value),
                 common.is_noisy(metric))
        lines.setdefault(common.series_name(record, spec, varying), []).append(point)
    return {name: sorted(points) for name, points in lines.items()}


def scale_axes(plot, spec, ticks, words):
    if words:
        plot.set_xticks(range(len(words)), words, fontsize=8, rotation=30, ha="right")
    elif spec["log_x"] and max(ticks) > 0:
        plot.set_xscale("log" if min(ticks) > 0 else "symlog", base=2)
        if len(ticks) <= 12:
            plot.set_xticks(ticks)
            plot.set_xticks([], minor=True)
            plot.tick_params(axis="x", labelsize=8, labelrotation=45 if max(ticks) > 999 else 0)
        plot.xaxis.set_major_formatter(ticker.FuncFormatter(lambda value, _: f"{value:{',' if value >= 10000 else ''}.10g}"))


def locator_within(low, high):
    """Returns the locator of a logarithmic axis of less than three decades: 1, 2, 5, 10, or even steps if fewer than three
    of those lie on the axis."""
    by_decade = ticker.LogLocator(base=10, subs=(1, 2, 5))
    if sum(low <= tick <= high for tick in by_decade.tick_values(low, high)) >= 3:
        return by_decade
    return ticker.MaxNLocator(nbins=6, steps=(1, 2, 2.5, 5, 10))


def scale_heights(plots, spec):
    """Sets the y range of all panels. They share it, so all must be drawn before."""
    # A logarithmic axis cannot show 0: if any value is not positive, all panels get a linear axis.
    lowest = min(plot.dataLim.ymin for plot in plots)
    if not (spec["log_y"] and lowest > 0):
        if lowest >= 0:  # negative values are allowed: a loss may be a gain
            plots[0].set_ylim(bottom=0)
        return
    for plot in plots:
        plot.set_yscale("log")
    low, high = plots[0].get_ylim()
    for plot in plots:
        if high < 1000 * low:  # otherwise an axis of one or two decades shows one or two numbers
            plot.yaxis.set_major_locator(locator_within(low, high))
            plot.yaxis.set_minor_formatter(ticker.NullFormatter())
        plot.yaxis.set_major_formatter(ticker.FuncFormatter(lambda value, _: f"{value:g}"))


MOVED_GREY = "#C8C8C8"


def draw_series(plot, lines, styles, moved):
    # Each line is thinner than the one below it, so that coinciding lines are all visible.
    for index, (name, points) in enumerate(lines.items()):
        color, marker, dash = styles[name]
        x, value, low, high, is_noisy = zip(*points)
        above = len(lines) - 1 - index
        plot.plot(x, value, dash, color=color, marker=marker, markersize=min(4 + 0.8 * above, 9),
                  linewidth=min(1.2 + 0.4 * above, 4), label=name, zorder=2 + 0.01 * index,
                  markerfacecolor=MOVED_GREY if name in moved else color)
        for at, height, is_starred in zip(x, value, is_noisy):
            if is_starred:
                plot.annotate("*", (at, height), xytext=(0, 2 + above), textcoords="offset points", ha="center", color=color)
        plot.fill_between(x, low, high, color=color, alpha=0.2, linewidth=0)


def draw_paper(plot, lines, styles, dash, fill):
    """Draws the paper's numbers with unfilled markers on broken lines, in the colours of our series."""
    for name, points in lines.items():
        color, marker, _ = styles[name]
        x, value, *_ = zip(*points)
        plot.plot(x, value, linestyle=dash, color=color, marker=marker, markersize=5, fillstyle=fill,
                  markerfacecoloralt="white", alpha=0.9, linewidth=1.1)


def shape_of(record, varying, apart):
    return tuple(str(common.setting(record, key)) for key in varying if key not in apart)


def is_of_methods(records, spec, varying):
    """True if the reference differs between the methods at one place, as the limit of a time does; a theory does not."""
    values = {}
    for record in records:
        metric = record["metrics"].get(spec.get("reference"))
        if metric is not None:
            place = (common.setting(record, spec["x"]), common.setting(record, spec.get("panels")))
            values.setdefault(place + shape_of(record, varying, ("method",)), set()).add(metric["value"])
    return any(len(found) > 1 for found in values.values())


def draw_reference(plot, records, spec, words, varying, styles):
    """Draws the reference as a line per shape, or if styles are given, as a line per series in its colour."""
    shapes, colors = {}, {}
    for record in records:
        metric = record["metrics"].get(spec["reference"])
        if metric is not None:
            name = common.series_name(record, spec, varying)
            shape = name if styles else shape_of(record, varying, ("method", spec["x"], spec.get("panels")))
            colors[shape] = styles[name][0] if styles else "#555555"
            shapes.setdefault(shape, {})[place_of(record, spec, words)] = metric["value"]
    for index, (shape, points) in enumerate(shapes.items()):
        x, value = zip(*sorted(points.items()))
        above = len(shapes) - 1 - index if styles else 0  # methods with the same limit are all visible
        plot.plot(x, value, "--", color=colors[shape], linewidth=min(1.2 + 0.6 * above, 4))


INVALID_RED = "#D00030"


def cross_out(plot, records, spec, words):
    """Draws points that do not count by their kind's rules. Returns True if there are any."""
    places = [(place_of(record, spec, words), common.metric_of(record, spec["y"])["value"])
              for record in records if common.invalid_reason(record, spec["y"])]
    if places:
        plot.plot(*zip(*places), "x", color=INVALID_RED, markersize=10, markeredgewidth=2, zorder=5)
    return bool(places)


# Dash pattern and filled part of the marker, for the machines of several papers.
PAPER_LOOKS = ((":", "none"), ("-.", "left"), ((0, (6, 3)), "top"), ((0, (1, 4)), "right"), ((0, (4, 1, 1, 1, 1, 1)), "bottom"))


def paper_look(index):
    return PAPER_LOOKS[index % len(PAPER_LOOKS)]


def invalid_handle():
    return Line2D([], [], color=INVALID_RED, marker="x", markersize=7, markeredgewidth=2, linestyle="none", label="INVALID")


def legend_of(styles, papers, reference, has_moved=False, has_invalid=False, has_noisy=False):
    handles = [Line2D([], [], color=color, marker=marker, linestyle=dash, markersize=5,
                      label=common.legend_label(name))
               for name, (color, marker, dash) in styles.items()]
    for index, paper in enumerate(papers):
        dash, fill = paper_look(index)
        handles.append(Line2D([], [], color="#555555", marker="o", fillstyle=fill, markerfacecoloralt="white",
                              linestyle=dash, markersize=5,
                              label="the same in the paper" if paper["label"] == "paper" else
                              f"the same, {paper['label']}"))
    if reference:
        handles.append(Line2D([], [], color="#555555", linestyle="--", label=reference))
    if has_moved:
        handles.append(Line2D([], [], color="#555555", marker="o", markerfacecolor=MOVED_GREY, markersize=5,
                              linestyle="none", label="the machine moved"))
    if has_noisy:
        handles.append(Line2D([], [], color="#555555", marker="$*$", markersize=5, linestyle="none", label="noisy"))
    if has_invalid:
        handles.append(invalid_handle())
    return handles


def panels_figure(panels, styles):
    """Makes panels side by side, large enough for the legend beside them."""
    longest = max((len(name) for name in styles), default=0)
    width = 7 + 0.07 * max(0, longest - 18) if len(panels) == 1 else 1.5 + 3.4 * len(panels)
    return plt.subplots(1, len(panels), sharey=True, squeeze=False, figsize=(width, max(4.6, 1 + 0.22 * len(styles))))


def moved_series(records, spec, varying):
    """Returns {series: rates that changed between its points}. Ratios are exempt: they are taken turn by turn."""
    if common.unit_of(records, spec["y"]) == "ratio":
        return {}
    series = {}
    for record in records:
        if common.metric_of(record, spec["y"]) is not None:
            series.setdefault(common.series_name(record, spec, varying), []).append(record)
    return {name: span for name, span in ((name, common.moved(those)) for name, those in series.items()) if span}


def draw(document, spec):
    records, run = document["records"], document["run"]
    # Settings that vary in the whole figure, so that a series has the same name in all panels.
    varying = common.varying_settings(records, run, spec)

    def ours(record):
        return common.metric_of(record, spec["y"])

    def theirs(paper):
        return lambda record: paper["points"].get(record.get("point"), {}).get(spec["y"])
    shown = [record for record in records if ours(record) is not None]
    if not shown:
        return None
    styles = common.styles_of(common.in_order(shown, lambda record: common.series_name(record, spec, varying)))
    panels = common.panels_of(shown, run, spec)
    words = words_of(shown, run, spec)
    papers = common.papers_drawn(document, spec)
    figure, plots = panels_figure(panels, styles)
    has_references = is_of_methods(shown, spec, varying)
    reference = common.name_of(spec.get("reference", "")) + (",\nin the method's colour" if has_references else "")
    spans, has_invalid, has_noisy = [], False, any(common.is_noisy(ours(record)) for record in shown)
    for plot, (value, inside) in zip(plots[0], panels):
        for index, paper in enumerate(papers):
            draw_paper(plot, collect(inside, spec, varying, words, theirs(paper)), styles, *paper_look(index))
        moved = moved_series(inside, spec, varying)
        spans += moved.values()
        draw_series(plot, collect(inside, spec, varying, words, ours), styles, moved)
        has_invalid = cross_out(plot, inside, spec, words) or has_invalid
        if spec.get("reference"):
            draw_reference(plot, inside, spec, words, varying, styles if has_references else None)
        scale_axes(plot, spec, common.values_of(inside, run, spec["x"]), words)
        common.title_panel(plot, run, spec, value)
        plot.set_xlabel(common.label_of(spec["x"], run.get("axis_units", {}).get(spec["x"], "")),
                        fontsize=10 if len(panels) == 1 else 8)
        plot.grid(True, which="major", linewidth=0.4, alpha=0.6)
        plot.spines[["top", "right"]].set_visible(False)
    scale_heights(plots[0], spec)
    plots[0][0].set_ylabel(common.metric_label(shown, spec["y"]))
    plots[0][-1].legend(handles=legend_of(styles, papers, reference, bool(spans), has_invalid, has_noisy), frameon=False,
                        loc="upper left", bbox_to_anchor=(1.01, 1), handlelength=3.5)  # outside the panel, since bands cover it
    return figure, common.moved_remark(spans)
