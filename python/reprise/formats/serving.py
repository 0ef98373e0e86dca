"""Code that the formats of serving benchmarks share: the numbers of one run of requests."""
import statistics

from .. import columns

PERCENTILES = ("p90", "p95", "p99", "p99.9")
# Arrivals for which the setting rate_rps is the rate of the whole run.
ONE_RATE = ("poisson", "gamma", "constant", "trace")


def require_serving(records, form):
    """Raises ValueError for records of another kind. `reprise load` writes records of kind serving, too."""
    others = sorted({record["experiment"]["kind"] for record in records} - {"serving"})
    if others:
        raise ValueError(f"--format {form} takes the records of requests to a server, of kind \"serving\" (reprise run, reprise "
                         f"load). These are of kind \"{others[0]}\"; --format bmf takes them")


def value_of(record, metric):
    return record["metrics"].get(metric, {}).get("value")


def count_of(record, metric):
    value = value_of(record, metric)
    return None if value is None else round(value)


def output_tokens(record):
    """Returns the generated tokens of the requests that were served, or None."""
    rate, duration_s = value_of(record, "output_tokens_per_s"), value_of(record, "duration_s")
    return None if rate is None or duration_s is None else round(rate * duration_s)


def served(record):
    ended, errors = count_of(record, "ended_requests"), count_of(record, "errors")
    return None if ended is None or errors is None else ended - errors


def request_rate(record):
    """Returns the requested rate of an open loop, or None if the run has no single rate or its rate was searched for."""
    asked = record["settings"]["requested"]
    is_one = asked.get("arrivals") in ONE_RATE and asked.get("search", "one_rate") == "one_rate"
    return asked.get("rate_rps") or None if is_one else None


def users(record):
    """Returns the number of users of a closed loop, or of conversations at once, or None."""
    asked = record["settings"]["requested"]
    return asked.get("most_in_flight") if asked.get("arrivals") in ("closed", "sessions") else None


def server_of(record):
    """Returns the facts about the server that `reprise load` asked; {} for `reprise run`."""
    return record["settings"]["resolved"].get("server", {})


def model_of(record):
    return server_of(record).get("model") or record["settings"]["requested"].get("model") or ""


def mean_and_deviation(record, metric):
    """Returns (mean, standard deviation) of all requests' samples, or (None, None) if the record has none."""
    samples = record["samples"].get(metric)
    return (statistics.fmean(samples), statistics.pstdev(samples)) if samples else (None, None)


def verdict(record):
    """Returns {verdict, reasons} as texts."""
    return {"verdict": record["answers"].get("verdict"), "reasons": columns.invalid_reason(record) or None}


def known(fields):
    """Returns the fields without those that are None."""
    return {key: value for key, value in fields.items() if value is not None}
