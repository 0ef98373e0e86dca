#!/usr/bin/env python3
"""Compares Prompt Cache with OpenVINO GenAI's prefix cache: time to first token of prompts whose beginning is cached, in
turn (A B A B ...), and the median of the ratios, pair by pair. Both compute in bf16 on the same threads, with random weights.

    V/bin/python experiments/peers/prefix_cache.py --build build/release --model FOLDER --rounds 3 --out FILE

V is an environment with openvino-genai. FOLDER holds a model of the shape exported by
`optimum-cli export openvino --task text-generation-with-past --weight-format fp16`; where it does not exist, it is made
(with optimum-intel, transformers, torch, and a tokenizer's files from --tokenizer).
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

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python"))
from reprise import record_reader  # noqa: E402  (in another folder of the tree)

# The shape of the shipped tinyllama-1.1b.
SHAPE = dict(vocab_size=32000, hidden_size=2048, intermediate_size=5632, num_hidden_layers=22, num_attention_heads=32,
             num_key_value_heads=4, max_position_embeddings=8192, rms_norm_eps=1e-5, rope_theta=10000.0,
             tie_word_embeddings=False, bos_token_id=1, eos_token_id=2)


def make_model(folder, tokenizer):
    import shutil
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM
    torch.manual_seed(1)
    torch.set_default_dtype(torch.bfloat16)
    with tempfile.TemporaryDirectory() as made:
        LlamaForCausalLM(LlamaConfig(**SHAPE)).eval().save_pretrained(made)
        for file in tokenizer.iterdir():
            shutil.copy(file, made)
        subprocess.run([pathlib.Path(sys.executable).parent / "optimum-cli", "export", "openvino", "-m", made, "--task",
                        "text-generation-with-past", "--weight-format", "fp16", folder], check=True)


class Peer:
    """OpenVINO GenAI's continuous batching with prefix caching."""

    def __init__(self, folder, tokens, threads, seed):
        import numpy
        import openvino
        import openvino_genai as genai
        scheduler = genai.SchedulerConfig()
        scheduler.enable_prefix_caching = True
        scheduler.cache_size = 2  # GB
        scheduler.max_num_batched_tokens = 2 * tokens
        self.pipeline = genai.ContinuousBatchingPipeline(
            str(folder), scheduler, "CPU",
            {"INFERENCE_PRECISION_HINT": "bf16", "KV_CACHE_PRECISION": "bf16", "INFERENCE_NUM_THREADS": threads})
        self.config = genai.GenerationConfig()
        self.config.max_new_tokens = 1
        self.config.ignore_eos = True
        self.config.do_sample = False
        self.random = numpy.random.default_rng(seed)
        self.tensor = lambda ids: openvino.Tensor(ids.reshape(1, -1).astype(numpy.int64))
        self.joined = numpy.concatenate
        self.ttft_ms(self.draw(tokens))  # compiles the shapes of a prompt

    def draw(self, tokens):
        return self.random.integers(3, SHAPE["vocab_size"] - 1, tokens)

    def ttft_ms(self, *parts):
        prompt = self.tensor(self.joined(parts))
        begin = time.perf_counter()
        self.pipeline.generate([prompt], [self.config])
        return (time.perf_counter() - begin) * 1e3

    def round(self, cached, fresh, repetitions):
        """Returns the times of prompts of which nothing is cached, and of as many whose beginning is cached. As in our program,
        each series begins with a warm-up that is not timed."""
        whole = [self.ttft_ms(self.draw(cached), self.draw(fresh)) for _ in range(1 + repetitions)]
        head = self.draw(cached)
        self.ttft_ms(head, self.draw(fresh))  # fills the cache
        part = [self.ttft_ms(head, self.draw(fresh)) for _ in range(1 + repetitions)]
        return {"whole_ms": whole[1:], "cached_ms": part[1:]}


def ours(build, cached, fresh, repetitions, threads):
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([build / "bin" / "reprise", "run", "prompt_cache/ttft", "--scale", "desk", "--out", folder,
                        "--threads", str(threads), "--no-plot", "--set", "methods=contiguous,prompt_cache",
                        "--set", f"settings.fresh_tokens={fresh}", "--set", "settings.modules=1",
                        "--set", f"sweep.prompt_tokens={cached + fresh}",
                        "--set", f"repetitions={repetitions}"], check=True, capture_output=True)
        found = record_reader.read_folder(folder)
    samples = {record["settings"]["requested"]["method"]: record["samples"]["ttft_ms"] for record in found}
    return {"whole_ms": samples["contiguous"], "cached_ms": samples["prompt_cache"],
            "revision": found[0]["provenance"]["revision"], "cpu": found[0]["machine"]["cpu"]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path("build/release"))
    parser.add_argument("--model", type=pathlib.Path, required=True)
    parser.add_argument("--tokenizer", type=pathlib.Path)
    parser.add_argument("--cached", type=int, nargs="+", default=[1024, 4096])
    parser.add_argument("--fresh", type=int, default=40)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=pathlib.Path)
    args = parser.parse_args()
    if not args.model.exists():
        if args.tokenizer is None:
            parser.error(f"{args.model} does not exist; with --tokenizer FOLDER it is made")
        make_model(args.model, args.tokenizer)
    import openvino_genai
    peer = Peer(args.model, max(args.cached) + args.fresh, args.threads, args.seed)
    report = {"peer": f"OpenVINO GenAI {openvino_genai.__version__}", "fresh_tokens": args.fresh, "threads": args.threads,
              "seed": args.seed, "cached_tokens": {}}
    for cached in args.cached:
        rounds = [{"ours": ours(args.build, cached, args.fresh, args.repetitions, args.threads),
                   "peer": peer.round(cached, args.fresh, args.repetitions)} for _ in range(args.rounds)]
        summary = {"rounds": rounds}
        for what in ("whole_ms", "cached_ms"):
            medians = [{side: statistics.median(r[side][what]) for side in ("ours", "peer")} for r in rounds]
            ratios = sorted(r["peer"] / r["ours"] for r in medians)
            summary[what] = {"ours": statistics.median(r["ours"] for r in medians),
                             "peer": statistics.median(r["peer"] for r in medians),
                             "times_faster": statistics.median(ratios), "lowest": ratios[0], "highest": ratios[-1]}
            print(f"{cached} cached + {args.fresh}, {what}: ours {summary[what]['ours']:.0f}, peer "
                  f"{summary[what]['peer']:.0f}, {summary[what]['times_faster']:.2f}x "
                  f"({ratios[0]:.2f} to {ratios[-1]:.2f})", flush=True)
        report["cached_tokens"][str(cached)] = summary
    if args.out:
        args.out.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
