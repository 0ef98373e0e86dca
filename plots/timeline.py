"""Draws family "timeline": the requests of a run one after another, and for each how many times as fast a method serves it
as the first method does, with a panel for each value of an axis. All methods get the same requests, so points compare
requests one by one. The line compares the sums of some requests in a row."""
import common
import lines

WINDOW = 9  # requests in a row that the line sums up


def near(values, index):
    """Returns the value and its neighbours within the window; at the ends there are fewer of them."""
    return values[max(0, index - WINDOW // 2):index + WINDOW // 2 + 1]


def running_speedup(ours, theirs):
    """Returns, for each request, their time for it and its neighbours, divided by our time for these."""
    return [sum(near(theirs, index)) / sum(near(ours, index)) for index in range(len(ours))]


def samples_of(record, metric):
    return record.get("samples", {}).get(metric, [])


def served_all(record):
    return record["metrics"].get("errors", {"value": 0})["value"] == 0


def pairs_of(record, first, metric):
    """Returns the record's samples and the first method's; two empty lists if they are not of the same requests."""
    ours, theirs = samples_of(record, metric), samples_of(first, metric)
    if len(ours) != len(theirs) or not all(map(served_all, (record, first))) or not all(value > 0 for value in ours):
        return [], []
    return ours, theirs


def firsts_of(records):
    """Returns {group: the record of its first method}."""
    return {record["group"]["id"]: record for record in records if record["group"]["index"] == 0}


def draw(document, spec):
    run, spec = document["run"], spec | {"panels": spec["x"]}
    shown = [record for record in document["records"] if samples_of(record, spec["y"])]
    firsts = firsts_of(shown)
    compared = [record for record in shown if record["group"]["index"] > 0 and record["group"]["id"] in firsts]
    others = [record for record in compared if pairs_of(record, firsts[record["group"]["id"]], spec["y"])[0]]
    if not others:
        return None
    varying = [key for key in common.varying_settings(others, run, spec) if key != spec["x"]]

    def series_of(record):
        return common.series_name(record, spec, varying)

    def is_invalid(record):  # a curve compares two runs
        return any(map(common.invalid_reason, (record, firsts[record["group"]["id"]])))

    def name_of(record):
        return series_of(record) + (" (INVALID)" if is_invalid(record) else "")

    def style_of(record):
        color, _, dash = series[series_of(record)]
        return color, ":" if is_invalid(record) else dash
    series = common.styles_of(common.in_order(others, series_of))
    of_name = {name_of(record): style_of(record) for record in others}
    styles = {name: of_name[name] for name in common.in_order(others, name_of)}
    panels = common.panels_of(others, run, spec)
    figure, plots = lines.panels_figure(panels, styles)
    for plot, (value, inside) in zip(plots[0], panels):
        plot.axhline(1, color="#555555", linestyle="--", linewidth=1)
        for record in inside:
            ours, theirs = pairs_of(record, firsts[record["group"]["id"]], spec["y"])
            color, dash = style_of(record)
            numbers = range(1, len(ours) + 1)
            plot.plot(numbers, [there / here for here, there in zip(ours, theirs)], ".", color=color, markersize=3, alpha=0.35)
            plot.plot(numbers, running_speedup(ours, theirs), dash, color=color, linewidth=1.8)
        common.title_panel(plot, run, spec, value)
        plot.set_xlabel("number of the request", fontsize=10 if len(panels) == 1 else 8)
        plot.grid(True, which="major", linewidth=0.4, alpha=0.6)
        plot.spines[["top", "right"]].set_visible(False)
    lines.scale_heights(plots[0], spec)
    first = common.method_name(next(iter(firsts.values())))
    plots[0][0].set_ylabel(f"{common.name_of(spec['y'])} of {first}\nover that of the method")
    handles = [lines.Line2D([], [], color=color, linestyle=dash, label=common.legend_label(name))
               for name, (color, dash) in styles.items()]
    plots[0][-1].legend(handles=handles, frameon=False, loc="upper left", bbox_to_anchor=(1.01, 1), handlelength=3.5)
    remark = f"Points: one request each. Lines: the sum of {WINDOW} requests in a row."
    if left_out := len(compared) - len(others):
        remark += (f" Left out: {left_out} of {len(compared)} curves, of runs that had errors or other requests than the "
                   "first method's.")
    return figure, remark
