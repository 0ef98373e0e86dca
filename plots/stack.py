"""Draws family "stack": the parts of a sum, e.g. of a step's time, as a stacked bar for each method at each value of an
axis."""
import matplotlib.pyplot as plt

import common
import lines


def unit_of_sum(records, spec):
    units = sorted({common.unit_of(records, metric) for metric in spec["stack"]} - {""})
    if len(units) > 1:
        raise common.CannotDraw(f"figure {spec['name']}: its parts have the units {', '.join(units)} and so no sum")
    return units[0] if units else ""


def label_of_sum(unit):
    name = "time" if unit in ("ns", "us", "ms", "s") else "sum"
    return f"{name} [{unit}]" if unit else name


def draw(document, spec):
    records, run = document["records"], document["run"]
    shown = [record for record in records if common.is_shown(record, spec)]
    if not shown:
        return None
    unit = unit_of_sum(shown, spec)
    varying = common.varying_settings(shown, run, spec)

    def name_of(record):
        return common.series_name(record, spec, varying)
    names = common.in_order(shown, name_of)
    values = common.values_of(shown, run, spec["x"])
    panels = common.panels_of(shown, run, spec)
    width = 1.2 + 0.26 * (len(names) + 1) * len(values)
    widest = 14.0  # inches; panels that would be wider go below one another
    columns = len(panels) if width * len(panels) <= widest else 1
    rows = len(panels) // columns
    figure, plots = plt.subplots(rows, columns, sharey=rows == 1, squeeze=False,
                                 figsize=(max(5.0, 1.5 + width * columns), 4.6 * rows), layout="constrained")
    has_invalid = False
    for plot, (value, inside) in zip(plots.flat, panels):
        places = {}
        for record in inside:
            place = values.index(common.setting(record, spec["x"])) * (len(names) + 1) + names.index(name_of(record))
            places[place] = name_of(record)
            bottom = 0.0
            for index, metric in enumerate(spec["stack"]):
                height = record["metrics"].get(metric, {"value": 0.0})["value"]
                plot.bar(place, height, 0.85, bottom=bottom, color=common.STYLES[index % len(common.STYLES)][0])
                bottom += height
            if common.invalid_reason(record):
                plot.plot(place, bottom / 2, "x", color=lines.INVALID_RED, markersize=10, markeredgewidth=2)
                has_invalid = True
        plot.set_xticks(list(places), list(places.values()), rotation=90, fontsize=7)
        for index, x in enumerate(values):
            plot.text(index * (len(names) + 1) + (len(names) - 1) / 2, 1.0, str(x), ha="center", va="bottom",
                      fontsize=8, transform=plot.get_xaxis_transform())
        if value is None:
            plot.set_xlabel("above: " + common.label_of(spec["x"], run.get("axis_units", {}).get(spec["x"], "")), fontsize=8)
        else:
            plot.set_xlabel(f"{common.name_of(spec['panels'])} {common.panel_name(run, spec, value)}; above: {common.name_of(spec['x'])}", fontsize=8)
        plot.grid(True, axis="y", linewidth=0.4, alpha=0.6)
        plot.spines[["top", "right"]].set_visible(False)
    for first in plots[:, 0]:
        first.set_ylabel(label_of_sum(unit))
    handles = [plt.Rectangle((0, 0), 1, 1, color=common.STYLES[i % len(common.STYLES)][0], label=common.name_of(metric))
               for i, metric in enumerate(spec["stack"])]
    if has_invalid:
        handles.append(lines.invalid_handle())
    plots[0][-1].legend(handles=handles, frameon=False, loc="upper left", bbox_to_anchor=(1.01, 1))
    return figure, ""
