#!/usr/bin/env python3
"""Compares Reprise with other servers under the same requests, in turn (A B C, B C A, ...), each started anew per turn.

    V/bin/python experiments/peers/serving_peers.py --build build/release --model FOLDER --rounds 3 --out FILE
        [--llama-server PROGRAM --gguf FILE] [--openvino FOLDER]

All have the same weights: FOLDER is a checkpoint in bf16, FILE its conversion by llama.cpp's convert_hf_to_gguf.py, and the
other FOLDER its export for OpenVINO by optimum-cli (prefix_cache.py makes one). The requests are those of experiments/serving/peers.json,
sent by `reprise load`; the prefix that they share is computed before the first. Ratios are taken round by round.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "python"))
from reprise import record_reader  # noqa: E402  (in another folder of the tree)

METRICS = {"throughput_rps": "value", "output_tokens_per_s": "value", "ttft_ms": "p95", "tpot_ms": "value"}
PORT = 8137


def servers_of(options):
    """Returns the name of each server and the command that starts it."""
    servers = {"reprise": [str(options.build / "bin" / "reprise"), "serve", "--model", str(options.model), "--port", str(PORT),
                           "--threads", str(options.threads), "--dtype", "bf16", "--max-tokens", "4096"]}
    if options.llama_server:
        servers["llama-server"] = [str(options.llama_server), "-m", str(options.gguf), "--port", str(PORT), "-t",
                                   str(options.threads), "-tb", str(options.threads), "-np", str(options.slots), "-c",
                                   str(options.slots * 4096), "-fa", "on", "-b", "2048",
                                   "-ub", "512", *options.llama_options.split()]
    if options.openvino:
        servers["openvino"] = [sys.executable, str(HERE / "openvino_server.py"), "--model", str(options.openvino), "--port",
                               str(PORT), "--threads", str(options.threads), "--max-batch", "32"]
    return servers


def users_of(scale):
    """Returns how many requests the experiment has in flight at once. With fewer slots, they would queue at llama-server."""
    experiment = json.loads((HERE.parent / "serving/peers.json").read_text(encoding="utf-8"))
    return (experiment["settings"] | experiment["scales"].get(scale, {}).get("settings", {}))["most_in_flight"]


def wait_for(process, log):
    for _ in range(1200):
        if process.poll() is not None:
            raise SystemExit(f"the server ended: {pathlib.Path(log).read_text()[-2000:]}")
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{PORT}/v1/models", timeout=5) as answer:
                if answer.status == 200:
                    return
        except OSError:
            pass
        time.sleep(0.25)
    raise SystemExit("the server did not come up within 5 minutes")


def a_turn(name, command, options):
    with tempfile.TemporaryDirectory() as folder:
        log = os.path.join(folder, "log")
        with open(log, "wb") as out:
            process = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT)
        try:
            wait_for(process, log)
            subprocess.run([options.build / "bin" / "reprise", "load", f"http://127.0.0.1:{PORT}", "serving/peers", "--scale",
                            options.scale, "--name", name, "--prime", "--no-plot", "--out", os.path.join(folder, "load"),
                            "--set", f'models=["{options.model}"]', *options.load], check=True, stdout=subprocess.DEVNULL)
        finally:
            process.terminate()
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        found = record_reader.read_folder(os.path.join(folder, "load"))
    return {str(record["settings"]["requested"]["shared_tokens"]): figures_of(record) for record in found}


def figures_of(record):
    metrics = record["metrics"]
    figures = {}
    for name, part in METRICS.items():
        value = metrics[name].get(part) if part != "value" else metrics[name]["value"]
        figures[name if part == "value" else f"{name}.{part}"] = value
    if record["answers"]["verdict"] != "VALID":
        raise SystemExit(f"{record['settings']['requested']}: INVALID: {record['answers']['reasons']}")
    if "cached_token_share" in metrics:
        figures["cached_token_share"] = metrics["cached_token_share"]["value"]
    return figures


def summary_of(rounds, names):
    """Returns medians, and the ratios to ours round by round."""
    summary = {}
    for shared in rounds[0][names[0]]:
        summary[shared] = {}
        for name in names:
            own = summary[shared][name] = {}
            for metric in rounds[0][name][shared]:
                values = [one[name][shared][metric] for one in rounds]
                if not isinstance(values[0], (int, float)):
                    continue
                own[metric] = statistics.median(values)
                if name != names[0] and metric != "cached_token_share":
                    ratios = sorted(one[name][shared][metric] / one[names[0]][shared][metric] for one in rounds)
                    own[f"{metric}_over_ours"] = {"median": statistics.median(ratios), "lowest": ratios[0], "highest": ratios[-1]}
    return summary


def versions_of(options):
    versions = {"reprise": subprocess.run([options.build / "bin" / "reprise", "--version"], check=True, capture_output=True,
                                          text=True).stdout.strip()}
    if options.llama_server:
        versions["llama-server"] = subprocess.run([options.llama_server, "--version"], capture_output=True,
                                                  text=True).stderr.strip() or options.llama_version
        if options.llama_version:
            versions["llama-server"] += f"; {options.llama_version}"
    if options.openvino:
        import openvino_genai
        versions["openvino"] = f"OpenVINO GenAI {openvino_genai.__version__}"
    return versions


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path("build/release"))
    parser.add_argument("--model", type=pathlib.Path, required=True)
    parser.add_argument("--llama-server", type=pathlib.Path)
    parser.add_argument("--llama-version", default="", help="what its program does not say")
    parser.add_argument("--llama-options", default="", help="more of them")
    parser.add_argument("--gguf", type=pathlib.Path)
    parser.add_argument("--openvino", type=pathlib.Path)
    parser.add_argument("--slots", type=int, help="of llama-server (default: the experiment's most_in_flight)")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--scale", default="desk")
    parser.add_argument("--load", nargs="*", default=[], help="more words for reprise load")
    parser.add_argument("--out", type=pathlib.Path)
    options = parser.parse_args()
    options.build, options.model = options.build.resolve(), options.model.resolve()
    options.slots = options.slots or users_of(options.scale)
    servers = servers_of(options)
    names = list(servers)
    versions = versions_of(options)
    rounds = []
    for number in range(options.rounds):
        turns = names[number % len(names):] + names[:number % len(names)]
        one = {}
        for name in turns:
            one[name] = a_turn(name, servers[name], options)
            for shared, figures in one[name].items():
                print(f"round {number + 1}, {name}, {shared} shared: {figures}", flush=True)
        rounds.append({name: one[name] for name in names})
        write_report(options, servers, versions, rounds)
    print(json.dumps(summary_of(rounds, names), indent=1))


def write_report(options, servers, versions, rounds):
    """Writes the report after each round, so that finished rounds are kept."""
    names = list(servers)
    report = {"what": "experiments/peers/serving_peers.py", "scale": options.scale, "threads": options.threads,
              "cpu": cpu_name(), "versions": versions, "commands": {n: [os.path.basename(w) for w in c] for n, c in
                                                                              servers.items()},
              "rounds": rounds, "summary": summary_of(rounds, names)}
    if options.out:
        options.out.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


def cpu_name():
    for line in open("/proc/cpuinfo", encoding="utf-8"):
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return ""


if __name__ == "__main__":
    main()
