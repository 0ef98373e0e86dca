"""llm-d-benchmark's benchmark report, version 0.2: a report about each point.

Records do not have the gaps between tokens of each request, so their statistics, which need a mean, are left out.
"""
from .. import columns
from . import serving
from .serving import count_of, value_of

# Sources of requests (docs/workloads.md) whose tokens are all made up. In system_prompts only some of them are.
MADE_UP = ("grid", "groups", "tree", "lengths", "mmlu_lengths", "azure", "burstgpt", "mooncake",
           "bailian", "servegen", "weka", "recombined")
LATENCIES = {"time_to_first_token": ("ttft_ms", "ms"), "time_per_output_token": ("tpot_ms", "ms/token"),
             "normalized_time_per_output_token": ("normalised_latency_s", "s/token"), "request_latency": ("e2e_ms", "ms")}
PERCENTILES = {"p25": "q1", "p50": "value", "p75": "q3", "p90": "p90", "p95": "p95", "p99": "p99", "p99p9": "p99.9",
               "min": "min", "max": "max"}
RATES = {"output_token_rate": ("output_tokens_per_s", "tokens/s"), "total_token_rate": ("total_tokens_per_s", "tokens/s"),
         "request_rate": ("throughput_rps", "queries/s")}


def mean_length(record, tokens):
    """Returns the mean number of tokens of a served request, or None."""
    requests = serving.served(record)
    return tokens / requests if requests and tokens is not None else None


def latency(record, metric, units):
    mean, deviation = serving.mean_and_deviation(record, metric)
    found = record["metrics"].get(metric, {})
    return None if mean is None else serving.known(
        {"units": units, "mean": mean, "stddev": deviation} | {key: found.get(ours) for key, ours in PERCENTILES.items()})


def mean_of(value, units):
    return None if value is None else {"units": units, "mean": value}


def run_of(record):
    description = f"{record['experiment']['name']}: {columns.label_of(record)}"
    if reason := columns.invalid_reason(record):
        description += f" [INVALID: {reason}]"
    duration_s = value_of(record, "duration_s")
    time = {"duration": None if duration_s is None else f"PT{duration_s:.6f}S"}
    if record["group"]["of"] == 1:  # otherwise the record has the times of all methods together
        time |= {"start": record.get("started_at"), "end": record.get("ended_at")}
    return {"uid": f"{record['config_hash']}-{record['point']}-{record.get('ended_at')}", "eid": record["config_hash"],
            "time": serving.known(time), "description": description}


def engine_of(record):
    """Returns the component that answered: our engine, or the server that `reprise load` asked, of whose machine nothing is
    known."""
    code, machine = record["provenance"], record["machine"]
    metadata = {"label": columns.label_of(record), "cfg_id": record["point"]}
    if server := serving.server_of(record):
        return {"metadata": metadata, "native": {"config": server},
                "standardized": {"kind": "generic", "tool": server.get("owner") or "unknown",
                                 "tool_version": server.get("version") or "unknown", "model": {"name": serving.model_of(record)}}}
    gpu = machine.get("device", {}).get("name")
    return {"metadata": metadata,
            "native": {"config": {"method": columns.label_of(record),
                                  "method_options": record["settings"]["resolved"].get("method_options", {})}},
            "standardized": {"kind": "inference_engine", "tool": "reprise", "tool_version": version_of(code), "role": "replica",
                             "replicas": 1, "model": {"name": serving.model_of(record)},
                             "accelerator": {"model": gpu or machine.get("cpu", "unknown"), "count": 1 if gpu else 0,
                                             "parallelism": {"tp": 1}}}}


def version_of(code):
    return f"{code.get('version', '')} {code.get('revision', '')}".strip()


def token_source(workload):
    name, file = workload.get("name"), workload.get("file", "")
    if name in MADE_UP or name == "sharegpt" and file.endswith(".csv"):
        return "random"
    return "sampled" if name in ("mmlu", "sharegpt", "agentic_coding") else "unknown"


def load_of(record, prompt_tokens):
    asked = record["settings"]["requested"]
    output = asked.get("output_tokens") if not asked.get("output_tokens_most") else None
    standardized = {
        "tool": "reprise", "tool_version": version_of(record["provenance"]),
        "source": token_source(asked.get("workload", {})),
        "input_seq_len": {"distribution": "other", "value": prompt_tokens},
        "output_seq_len": {"distribution": "fixed", "value": output} if output else None,
        "rate_qps": serving.request_rate(record), "concurrency": serving.users(record)}
    return {"metadata": {"cfg_id": record["config_hash"]}, "standardized": serving.known(standardized),
            "native": {"config": asked}}


def performance_of(record):
    tokens, duration_s = value_of(record, "prompt_tokens_total"), value_of(record, "duration_s")
    requests = {"total": count_of(record, "ended_requests"), "failures": count_of(record, "errors"),
                "input_length": mean_of(mean_length(record, tokens), "count"),
                "output_length": mean_of(mean_length(record, serving.output_tokens(record)), "count")}
    rates = {name: mean_of(value_of(record, metric), units) for name, (metric, units) in RATES.items()}
    rates["input_token_rate"] = mean_of(tokens / duration_s if tokens is not None and duration_s else None, "tokens/s")
    return serving.known({
        "requests": serving.known(requests) if requests["total"] is not None else None,
        "latency": serving.known({name: latency(record, *metric) for name, metric in LATENCIES.items()}),
        "throughput": serving.known(rates)})


def report(record):
    scenario = {"stack": [engine_of(record)]}
    prompt_tokens = mean_length(record, value_of(record, "prompt_tokens_total"))
    if prompt_tokens is not None:   # the format requires a length for each load
        scenario["load"] = load_of(record, prompt_tokens)
    return {"version": "0.2", "run": run_of(record), "scenario": scenario,
            "results": {"request_performance": {"aggregate": performance_of(record)}}}


def file_name(record):
    """Returns the name by which llm-d-benchmark finds reports in a folder. It reads YAML, which JSON is as well."""
    return f"benchmark_report_v0.2,_{record['point']}.yaml"


def documents(records):
    serving.require_serving(records, "llm-d")
    return [report(record) for record in records]
