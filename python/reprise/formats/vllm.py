"""The JSON of `vllm bench serve --save-result --save-detailed`, one line a point, as its --append-result writes several runs.

Latencies count from the intended arrival of a request, where vLLM counts from the moment it was sent. Records do not have the
gaps between tokens of each request, the lengths and the texts, so their lists and the mean of itl are left out.
"""
import datetime

from .. import columns
from . import serving
from .serving import count_of, value_of

LATENCIES = {"ttft": "ttft_ms", "tpot": "tpot_ms", "itl": "itl_ms", "e2el": "e2e_ms"}
LISTS = {"ttfts": "ttft_ms", "latencies": "e2e_ms"}


def date_of(record):
    ended = record.get("ended_at")
    return datetime.datetime.fromisoformat(ended.replace("Z", "+00:00")).strftime("%Y%m%d-%H%M%S") if ended else None


def burstiness(record):
    """Returns the shape of the gamma distribution of the gaps between requests, or None for other arrivals."""
    asked = record["settings"]["requested"]
    if asked.get("arrivals") == "gamma" and asked.get("cv"):
        return 1 / asked["cv"]**2
    return 1.0 if asked.get("arrivals") == "poisson" else None


def latencies(record, name, metric):
    mean, deviation = serving.mean_and_deviation(record, metric)
    found = record["metrics"].get(metric, {})
    return {f"mean_{name}_ms": mean, f"median_{name}_ms": found.get("value"), f"std_{name}_ms": deviation} | {
        f"{percentile}_{name}_ms": found.get(percentile) for percentile in serving.PERCENTILES}


def result(record):
    is_closed = serving.users(record) is not None
    backend = "openai" if serving.server_of(record) else "reprise"
    fields = {
        "date": date_of(record), "endpoint_type": backend, "backend": backend, "label": columns.label_of(record),
        "model_id": serving.model_of(record), "num_prompts": count_of(record, "ended_requests"),
        # The next two lines are fields of our own, which stand where vLLM puts those of its --metadata.
        "experiment": record["experiment"]["name"], "scale": record["experiment"].get("scale"), "point": record["point"],
        "cpu": record["machine"].get("cpu"), "revision": columns.revision_of(record), **serving.verdict(record),
        "request_rate": "inf" if is_closed else serving.request_rate(record), "burstiness": burstiness(record),
        "duration": value_of(record, "duration_s"), "completed": serving.served(record), "failed": count_of(record, "errors"),
        "total_input_tokens": count_of(record, "prompt_tokens_total"), "total_output_tokens": serving.output_tokens(record),
        "request_throughput": value_of(record, "throughput_rps"), "output_throughput": value_of(record, "output_tokens_per_s"),
        "total_token_throughput": value_of(record, "total_tokens_per_s")}
    for name, metric in LATENCIES.items():
        fields |= latencies(record, name, metric)
    for name, metric in LISTS.items():   # in seconds
        samples = record["samples"].get(metric)
        fields[name] = [sample / 1000 for sample in samples] if samples else None
    # vLLM writes these two as null, too, where a run has none.
    return serving.known(fields) | {"max_concurrency": serving.users(record), "request_goodput": value_of(record, "goodput_rps")}


def documents(records):
    serving.require_serving(records, "vllm")
    return [result(record) for record in records]
