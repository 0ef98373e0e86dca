"""Records as tables of pandas or Arrow."""
import pathlib

from . import columns, record_reader

SAMPLE_COLUMNS = ("source", "experiment", "label", "point", "metric", "unit", "index", "value")


def library(name, needed_by):
    """Imports a library. Raises ImportError with the remedy."""
    try:
        return __import__(name)
    except ImportError as error:
        raise ImportError(f"{needed_by} needs {name}, which this Python cannot import ({error}). Install it: python3 -m pip "
                          f"install {name}") from None


def kind_of(values):
    """Returns "bool", "int", "float" or "text", the type that holds all values that are not None."""
    types = {type(value) for value in values if value is not None}
    if types <= {bool} and types:
        return "bool"
    if types <= {int} and types:
        return "int"
    return "float" if types and types <= {int, float} else "text"


def typed(values):
    """Returns the values of one column, all of one type, and the type."""
    kind = kind_of(values)
    convert = {"float": float, "text": columns.text_of}.get(kind, lambda value: value)
    return [None if value is None else convert(value) for value in values], kind


def data_frame(table):
    pandas = library("pandas", "a table of pandas")
    types = {"bool": "boolean", "int": "Int64", "float": "float64"}
    series = {}
    for name, column in table.items():
        values, kind = typed(column)
        if kind in ("bool", "int") and None not in values:
            series[name] = pandas.Series(values)
        else:
            series[name] = pandas.Series(values, dtype=types.get(kind))
    return pandas.DataFrame(series)


def arrow_table(table):
    pyarrow = library("pyarrow", "a table of Arrow")
    types = {"bool": pyarrow.bool_(), "int": pyarrow.int64(), "float": pyarrow.float64(), "text": pyarrow.string()}
    arrays = {}
    for name, column in table.items():
        values, kind = typed(column)
        arrays[name] = pyarrow.array(values, type=types[kind])
    return pyarrow.table(arrays)


def made(table, as_arrow):
    return arrow_table(table) if as_arrow else data_frame(table)


def read(sources):
    """Returns [(source, its records)]. Raises OSError, ValueError."""
    return [(pathlib.Path(source), record_reader.points_of(source)) for source in sources]


def records(*sources, metrics=None, as_arrow=False):
    """Returns a table with a row for each point: a pandas.DataFrame, or a pyarrow.Table.

    A source is a folder that `reprise run` wrote, or a file of records (.jsonl, packed or not). Columns have the names
    and values of `reprise export --format csv`, without the papers' numbers; columns.py names the others. `metrics` are
    names as for --metrics (["ttft_ms", "ttft_ms.p99"]; default: all, and the percentiles that a folder's run.json names).
    Raises OSError, ValueError, or ImportError with the remedy.
    """
    return made(columns.table_of(read(sources), metrics), as_arrow)


def samples(*sources, metrics=None, as_arrow=False):
    """Returns a table with a row for each sample, in the order they were taken, of the sources of records(). The columns
    are SAMPLE_COLUMNS. `metrics` are names without percentiles."""
    table = {name: [] for name in SAMPLE_COLUMNS}
    found = read(sources)
    if metrics is not None:
        columns.require_known_metrics(metrics, [record for _, those in found for record in those])
        if percentiles := [name for name in metrics if "." in name]:
            raise ValueError(f"samples belong to a metric, not to its percentile \"{percentiles[0]}\": name "
                             f"\"{percentiles[0].split('.')[0]}\"")
    for source, those in found:
        for record in those:
            for metric, values in record["samples"].items():
                if metrics is not None and metric not in metrics:
                    continue
                same = {"source": str(source), "experiment": record["experiment"]["name"], "label": columns.label_of(record),
                        "point": record["point"], "metric": metric, "unit": record["metrics"].get(metric, {}).get("unit")}
                for name, value in same.items():
                    table[name] += [value] * len(values)
                table["index"] += range(len(values))
                table["value"] += values
    return made(table, as_arrow)
