"""Code that the formats share: names of points, and the choice of the points that count."""
from .. import columns


def varying(records):
    """Returns the requested settings that differ between the records, by their paths."""
    settings = [columns.settings_of(record) for record in records]
    return [key for key in sorted({key for those in settings for key in those})
            if len({columns.text_of(those.get(key)) for those in settings}) > 1]


def point_names(records):
    """Returns a name for each record, "EXPERIMENT/SCALE/setting=value/.../LABEL": the settings that differ between the
    records, without the method's options where the names differ without them."""
    settings = varying(records)

    def names(keys):
        return ["/".join([record["experiment"]["name"], record["experiment"].get("scale", ""),
                          *(f"{key}={columns.text_of(columns.settings_of(record).get(key))}" for key in keys),
                          columns.label_of(record)]) for record in records]
    short = names([key for key in settings if key.split(".")[0] not in ("method", "method_options")])
    if len(set(short)) == len(records):
        return short
    full = names([key for key in settings if key != "method"])
    if len(set(full)) == len(records):
        return full
    return [f"{name}/{record['point']}" for name, record in zip(full, records)]


def counting(records, note):
    """Returns (name, record) of the points that count. Calls note(sentence) for each INVALID one. Raises ValueError if
    none is left."""
    kept = []
    for name, record in zip(point_names(records), records):
        if reason := columns.invalid_reason(record):
            note(f"left out, because the run is INVALID: {name} ({reason})")
        else:
            kept.append((name, record))
    if not kept:
        raise ValueError("every run is INVALID, so there is no result to write; --format csv shows their numbers and reasons")
    return kept


def chosen(records, metrics):
    """Returns the metrics to write: those of --metrics, or all. Raises ValueError for one that no record has."""
    if not metrics:
        return columns.metric_names(records)
    columns.require_known_metrics(metrics, records)
    return metrics
