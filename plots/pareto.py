"""Draws family "pareto": a latency against the achieved rate, a curve per method through the requested rates, and the
front of the points that no other point beats in both."""
import common
import lines


def front_of(points):
    """Returns those of [(rate, latency, ...)] for which no other point has a higher rate and a lower latency, by rate."""
    front = []
    for point in sorted(points, key=lambda point: (-point[0], point[1])):
        if not front or point[1] < front[-1][1]:
            front.append(point)
    return front[::-1]


def points_of(records, spec):
    """Returns [(achieved rate, latency, requested rate, record)] for records that have both metrics."""
    return [(common.metric_of(record, spec["against"])["value"], common.metric_of(record, spec["y"])["value"],
             common.setting(record, spec["x"]), record) for record in records if common.is_shown(record, spec)]


def front_text(front, spec, name_of):
    """Says which method is on the front at which rates."""
    rates = {}
    for _, _, asked, record in front:
        rates.setdefault(name_of(record), []).append(f"{asked:g}")
    return "; ".join(f"{name} at {', '.join(those)}" for name, those in rates.items())


def draw(document, spec):
    records, run = document["records"], document["run"]
    varying = common.varying_settings(records, run, spec)

    def name_of(record):
        return common.series_name(record, spec, varying)
    shown = [point[-1] for point in points_of(records, spec)]
    if not shown:
        return None
    styles = common.styles_of(common.in_order(shown, name_of))
    panels = common.panels_of(shown, run, spec)
    figure, plots = lines.panels_figure(panels, styles)
    told, has_invalid = [], False
    for plot, (value, inside) in zip(plots[0], panels):
        points = points_of(inside, spec)
        front = front_of([point for point in points if not common.invalid_reason(point[-1])])
        if front:
            # The front is a staircase: a higher rate than one point's costs the next point's latency.
            plot.plot([point[0] for point in front], [point[1] for point in front], color=common.INK, alpha=0.25,
                      linewidth=7, drawstyle="steps-pre", solid_capstyle="round", zorder=1)
            where = "" if value is None else f" ({common.name_of(spec['panels'])} {value})"
            told.append(front_text(front, spec, name_of) + where)
        for name, (color, marker, dash) in styles.items():
            those = sorted((point for point in points if name_of(point[-1]) == name), key=lambda point: point[2])
            plot.plot([point[0] for point in those], [point[1] for point in those], dash, color=color, marker=marker,
                      markersize=5, linewidth=1.4)
        invalid = [point for point in points if common.invalid_reason(point[-1])]
        if invalid:
            plot.plot([point[0] for point in invalid], [point[1] for point in invalid], "x", color=lines.INVALID_RED,
                      markersize=10, markeredgewidth=2, zorder=5)
            has_invalid = True
        lines.scale_axes(plot, spec, [], [])
        plot.set_xlim(left=0)
        common.title_panel(plot, run, spec, value)
        plot.set_xlabel(common.metric_label(shown, spec["against"]), fontsize=10 if len(panels) == 1 else 8)
        plot.grid(True, which="major", linewidth=0.4, alpha=0.6)
        plot.spines[["top", "right"]].set_visible(False)
    plots[0][0].set_ylabel(common.metric_label(shown, spec["y"]))
    handles = lines.legend_of(styles, [], None, has_invalid=has_invalid)
    handles.append(lines.Line2D([], [], color=common.INK, alpha=0.25, linewidth=7, label="Pareto front"))
    plots[0][-1].legend(handles=handles, frameon=False, loc="upper left", bbox_to_anchor=(1.01, 1))
    return figure, f"On the front, by {common.name_of(spec['x'])}: {'. '.join(told)}." if told else ""
