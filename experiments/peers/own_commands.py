#!/usr/bin/env python3
"""Compares `generate` and `serve` with `run`: the time to first token and the time of a further one, of one prompt, in turn.

    python3 experiments/peers/own_commands.py --tokenizer FOLDER --rounds 8 --out FILE

FOLDER holds a tokenizer of the shape's vocabulary, without which nothing can be served. A round runs each command once, with the same shape and random weights; rounds alternate the order. `run` and `serve` compute
a prompt before the one that is timed; `generate` cannot. Prints the medians of the ratios to `run`, with quartiles.
"""
import argparse
import http.client
import json
import os
import pathlib
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))
from reprise import record_reader  # noqa: E402  (in another folder of the tree)


class Commands:
    def __init__(self, options, model):
        self.options, self.model = options, str(model)
        self.program = str(options.build / "bin" / "reprise")
        self.common = ["--threads", str(options.threads)]
        self.random = random.Random(options.seed)
        self.server = None

    def prompt(self):
        return [self.random.randrange(3, 30000) for _ in range(self.options.prompt)]

    def run(self):
        experiment = {
            "name": "one_prompt", "title": "One prompt", "kind": "decode",
            "models": [{"model": self.model, "weights": "random"}], "dtypes": ["bf16"], "methods": [self.options.method],
            "settings": {"batch": 1, "prompt_tokens": self.options.prompt, "new_tokens": self.options.new},
            "repetitions": 1, "warmup": 1}
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder, "one_prompt.json")
            file.write_text(json.dumps(experiment))
            subprocess.run([self.program, "run", str(file), "--out", folder + "/out", *self.common], check=True,
                           capture_output=True)
            samples = record_reader.read_folder(folder + "/out")[0]["samples"]
        return {"ttft_ms": samples["prefill_ms"][0], "tpot_ms": statistics.mean(samples["step_ms"])}

    def generate(self):
        text = subprocess.run(
            [self.program, "generate", "--model", self.model, "--random-weights", "--dtype", "bf16", "--ignore-eos",
             "--method", self.options.method, "--ids", ",".join(map(str, self.prompt())), "--max-new-tokens",
             str(self.options.new), *self.common], check=True, capture_output=True, text=True).stderr
        return {"ttft_ms": float(re.search(r"TTFT ([\d.]+) ms", text)[1]), "tpot_ms": float(re.search(r"TPOT ([\d.]+) ms", text)[1])}

    def start_server(self):
        self.server = subprocess.Popen(
            [self.program, "serve", "--model", self.model, "--random-weights", "--dtype", "bf16", "--method",
             self.options.method, "--port", str(self.options.port), "--max-batch", "1", "--max-tokens",
             str(self.options.prompt + self.options.new), *self.common], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for _ in range(600):
            try:
                self.request(2)
                return
            except OSError:
                time.sleep(0.5)
            if self.server.poll() is not None:
                raise SystemExit(f"the server ended with status {self.server.returncode}")
        raise SystemExit("the server did not come up within 5 minutes")

    def request(self, new):
        connection = http.client.HTTPConnection("127.0.0.1", self.options.port)
        body = json.dumps({"prompt": self.prompt(), "max_tokens": new, "temperature": 0,
                           "ignore_eos": True, "stream": True})
        begin = time.perf_counter()
        connection.request("POST", "/v1/completions", body, {"Content-Type": "application/json"})
        response = connection.getresponse()
        if response.status != 200:
            raise SystemExit(f"the server answered {response.status}: {response.read()[:400]}")
        times = []
        for line in response:
            if line.startswith(b"data: {") and json.loads(line[6:]).get("choices"):
                times.append(time.perf_counter())
        times = times[:new]
        return {"ttft_ms": 1e3 * (times[0] - begin), "tpot_ms": 1e3 * (times[-1] - times[0]) / (len(times) - 1)}

    def serve(self):
        self.start_server()
        try:
            return self.request(self.options.new)
        finally:
            self.server.terminate()
            self.server.wait()


def ratios_of(rounds, command, metric):
    ratios = [timed[command][metric] / timed["run"][metric] for timed in rounds]
    quarters = statistics.quantiles(ratios, n=4, method="inclusive") if len(ratios) > 1 else 3 * ratios
    return {"q1": quarters[0], "median": quarters[1], "q3": quarters[2]}


def measure(options, commands):
    version = subprocess.run([commands.program, "--version"], check=True, capture_output=True, text=True).stdout
    report = {"reprise": version.splitlines(), "rounds": [],
              **{name: getattr(options, name) for name in ("shape", "method", "prompt", "new", "threads", "seed")}}
    names = ["run", "generate", "serve"]
    for turn in range(options.rounds):
        order = names[turn % 3:] + names[:turn % 3]
        timed = {name: getattr(commands, name)() for name in order}
        report["rounds"].append(timed)
        print(json.dumps(timed), flush=True)
    report["ratios"] = {name: {metric: ratios_of(report["rounds"], name, metric) for metric in ("ttft_ms", "tpot_ms")}
                        for name in names[1:]}
    for name, ratios in report["ratios"].items():
        for metric, of in ratios.items():
            print(f"{name}: {metric} is {of['median']:.3f} times that of run ({of['q1']:.3f} to {of['q3']:.3f})")
    if options.out:
        options.out.write_text(json.dumps(report, indent=2) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release")
    parser.add_argument("--shape", default="tinyllama-1.1b")
    parser.add_argument("--tokenizer", type=pathlib.Path, required=True)
    parser.add_argument("--method", default="contiguous")
    parser.add_argument("--prompt", type=int, default=512)
    parser.add_argument("--new", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--port", type=int, default=8139)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=pathlib.Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        model = pathlib.Path(folder, options.shape)
        shutil.copytree(options.tokenizer, model)
        shutil.copy(ROOT / "models/shapes" / f"{options.shape}.json", model / "config.json")
        measure(options, Commands(options, model))


if __name__ == "__main__":
    main()
