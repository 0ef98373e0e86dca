"""Family "map": a metric that compares with the first method (1: equal) over two axes, a map for each other method
and one that names the fastest; losing corners are as visible as winning ones."""
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import ListedColormap, LogNorm
from matplotlib.ticker import FixedLocator, FuncFormatter

import common


def cells(records, spec, columns, rows):
    """[rows, columns] values, NaN where nothing was measured."""
    grid = np.full((len(rows), len(columns)), np.nan)
    for record in records:
        metric = record["metrics"].get(spec["y"])
        if metric is None:
            continue
        place = (rows.index(common.setting(record, spec["rows"])), columns.index(common.setting(record, spec["x"])))
        if not np.isnan(grid[place]):
            common.fail(f"figure {spec['name']}: several records share one place of the map; "
                        "name the axis that tells them apart in \"panels\"")
        grid[place] = metric["value"]
    return grid


def label_axes(plot, run, spec, columns, rows, is_left, is_bottom):
    plot.set_xticks(range(len(columns)), columns if is_bottom else [], fontsize=7, rotation=45)
    plot.set_yticks(range(len(rows)), rows if is_left else [], fontsize=7)
    plot.tick_params(length=0)
    units = run.get("axis_units", {})
    if is_bottom:
        plot.set_xlabel(common.label_of(spec["x"], units.get(spec["x"], "")), fontsize=8)
    if is_left:
        plot.set_ylabel(spec["rows"].replace("_", " "), fontsize=8)


def draw_values(plot, grid, norm):
    image = plot.imshow(grid, cmap="RdBu", norm=norm, origin="lower", aspect="auto")
    for (row, column), value in np.ndenumerate(grid):
        if np.isnan(value):
            continue
        is_dark = abs(np.log(value)) > 0.6 * np.log(norm.vmax)
        plot.text(column, row, f"{value:.2g}" if value < 9.95 else f"{value:.0f}", ha="center", va="center",
                  fontsize=6.5, color="white" if is_dark else "black")
    return image


def draw_fastest(plot, grids, names):
    """The best of all methods in each place; the first method is 1 by definition."""
    stack = np.stack([grids[name] for name in names])
    best = np.where(np.isnan(stack).all(axis=0), np.nan, np.nan_to_num(stack, nan=-1).argmax(axis=0).astype(float))
    colors = ListedColormap([common.STYLES[i % len(common.STYLES)][0] for i in range(len(names))])
    plot.imshow(best, cmap=colors, vmin=-0.5, vmax=len(names) - 0.5, origin="lower", aspect="auto", alpha=0.65)
    for (row, column), index in np.ndenumerate(best):
        if not np.isnan(index):
            plot.text(column, row, names[int(index)].replace("_", "\n"), ha="center", va="center", fontsize=4.5,
                      linespacing=0.9)


def draw(records, run, paper, spec):
    shown = [record for record in records if spec["y"] in record["metrics"]]
    if not shown:
        return None
    names = common.in_order(shown, common.method_name)
    columns = common.values_of(shown, run, spec["x"])
    rows = common.values_of(shown, run, spec["rows"])
    panels = common.panels_of(shown, run, spec)
    grids = [{name: cells([r for r in inside if common.method_name(r) == name], spec, columns, rows) for name in names}
             for _, inside in panels]
    largest = max(np.nanmax(np.abs(np.log(np.stack(list(grid.values()))))) for grid in grids)
    norm = LogNorm(vmin=np.exp(-max(largest, 0.1)), vmax=np.exp(max(largest, 0.1)))
    others = names[1:]
    lines = len(others) + (1 if others else 0)
    figure, plots = plt.subplots(max(lines, 1), len(panels), squeeze=False, layout="constrained",
                                 figsize=(1.6 + max(2.4, 0.42 * len(columns)) * len(panels),
                                          0.8 + max(1.5, 0.3 * len(rows)) * max(lines, 1)))
    image = None
    for column, (value, _) in enumerate(panels):
        for line, name in enumerate(others or names):
            image = draw_values(plots[line][column], grids[column][name], norm)
            plots[line][column].set_title(title_of(spec, name, value), fontsize=8)
        if others:
            draw_fastest(plots[-1][column], grids[column], names)
            plots[-1][column].set_title(title_of(spec, "fastest", value), fontsize=8)
        for line in range(len(plots)):
            label_axes(plots[line][column], run, spec, columns, rows, column == 0, line == len(plots) - 1)
    bar = figure.colorbar(image, ax=plots, shrink=0.6, pad=0.02)
    bar.set_label(common.metric_label(shown, spec["y"]), fontsize=8)
    ticks = [tick for tick in (0.1, 0.2, 0.5, 0.7, 1, 1.4, 2, 5, 10, 20, 50) if norm.vmin <= tick <= norm.vmax]
    bar.ax.minorticks_off()
    bar.ax.yaxis.set_major_locator(FixedLocator(ticks))
    bar.ax.yaxis.set_major_formatter(FuncFormatter(lambda number, _: f"{number:g}"))
    return figure


def title_of(spec, name, value):
    return name if value is None else f"{name}, {spec['panels'].replace('_', ' ')} {value}"
