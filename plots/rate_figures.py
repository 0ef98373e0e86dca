"""The figures that an experiment over request rates gets, whatever its file names: latency against the rate, and which
methods are worth their latency at which throughput."""
import json

import common

# The latencies that figures show, the most important first, with their names in titles.
LATENCIES = {"normalised_latency_s": "Normalised latency", "ttft_ms": "Time to first token",
             "tpot_ms": "Time per further token", "e2e_ms": "End-to-end time"}
THROUGHPUTS = ("throughput_rps", "output_tokens_per_s", "total_tokens_per_s")
MOST_PANELS = 4


def present(records: list[dict], names: tuple[str, ...]) -> list[str]:
    """Returns those of the names that are metrics of any record."""
    return [name for name in names if any(common.metric_of(record, name) is not None for record in records)]


def is_rate(axis: str, unit: str) -> bool:
    return axis.endswith("_rps") or "rate" in axis and unit in ("1/s", "requests/s", "rps")


def rate_axis(run: dict) -> str:
    """Returns the numeric axis that sweeps the rate of requests; "" if there is none."""
    for axis, values in run["settings"]["axes"].items():
        if len(values) > 1 and is_rate(axis, run["axis_units"].get(axis, "")) and not any(
                isinstance(value, str) for value in values):
            return axis
    return ""


def panel_axis(run: dict, rate: str) -> str:
    """Returns another axis with few values, which splits the figures into panels."""
    for axis, values in run["settings"]["axes"].items():
        if axis != rate and 1 < len(values) <= MOST_PANELS:
            return axis
    return ""


def free_name(plots: list[dict], name: str) -> str:
    """Returns the name, or a similar one that no figure of the experiment has."""
    while any(plot["name"] == name for plot in plots):
        name += "_"
    return name


def is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def misplaced(records: list[dict], spec: dict) -> str:
    """Returns a sentence on the record that has no place in the figure, with the remedy; "" if all have one."""
    for record in records:
        if common.metric_of(record, spec["y"]) is None:
            continue
        for axis, accepts, what in ((spec["x"], is_number, "number"),
                                    (spec["panels"], lambda value: isinstance(value, str) or is_number(value), "value")):
            if axis and not accepts(value := common.setting(record, axis)):
                return (f"The record of point {record['point']} has {json.dumps(value)} for \"settings.requested.{axis}\", "
                        f"where this figure needs a {what}. Delete that record, or measure anew with --fresh.")
    return ""


def rate_figures(run: dict, records: list[dict]) -> list[dict]:
    """Returns figures in the form of an experiment file's "plots": the median and 99th percentile of each latency
    against the rate, if the experiment has no such figure, and the Pareto front against the achieved throughput."""
    rate, plots = rate_axis(run), run["plots"]
    if not rate:
        return []
    base = {"x": rate, "series": "method", "log_x": False, "log_y": True, "panels": panel_axis(run, rate), "rows": "",
            "reference": "", "stack": []}
    figured = {plot["y"] for plot in plots if plot["family"] == "lines" and plot["x"] == rate}
    latencies = [name for latency in LATENCIES for name in present(records, (latency, latency + ".p99"))]
    figures = []
    for name in latencies:
        latency, percentile = common.split_metric_name(name)
        if name not in figured:
            what = "99th percentile" if percentile else "median"
            figures.append(base | {"family": "lines", "y": name, "name": free_name(plots, "report_" + name),
                                   "title": f"{LATENCIES[latency]} against the request rate: {what}"})
    throughputs = present(records, THROUGHPUTS)
    if latencies and throughputs:
        figures.append(base | {"family": "pareto", "y": common.split_metric_name(latencies[0])[0],
                               "against": throughputs[0], "name": free_name(plots, "report_pareto"),
                               "title": "Throughput against latency: the Pareto front over methods"})
    return figures
