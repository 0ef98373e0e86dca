#!/usr/bin/env python3
"""Compares prefill and decode at batch 1 with llama.cpp's llama-bench. Each round runs both, and rounds alternate which
goes first. Prints the median of Reprise's rate over llama.cpp's. Both compute a shipped shape in bf16, with random weights.

    V/bin/python experiments/peers/llama_bench.py --llama-bench PROGRAM --gguf MODEL --rounds 8 --out FILE

V is an environment with gguf and numpy. If MODEL does not exist, it is written: 2.2 GB for the shape of TinyLlama. PROGRAM
is built from llama.cpp's sources for this processor (-DGGML_NATIVE=ON); PyPI's llama-cpp-python holds them below vendor.
"""
import argparse
import csv
import io
import json
import os
import pathlib
import statistics
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]


def make_gguf(path, shape, seed):
    import gguf
    import numpy
    random = numpy.random.default_rng(seed)
    hidden, wide, layers = shape["hidden_size"], shape["intermediate_size"], shape["num_hidden_layers"]
    heads, kv_heads, vocabulary = shape["num_attention_heads"], shape["num_key_value_heads"], shape["vocab_size"]
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_block_count(layers)
    writer.add_context_length(shape["max_position_embeddings"])
    writer.add_embedding_length(hidden)
    writer.add_feed_forward_length(wide)
    writer.add_head_count(heads)
    writer.add_head_count_kv(kv_heads)
    writer.add_layer_norm_rms_eps(shape["rms_norm_eps"])
    writer.add_rope_freq_base(shape.get("rope_theta", 10000.0))
    writer.add_vocab_size(vocabulary)
    writer.add_file_type(gguf.LlamaFileType.MOSTLY_BF16)
    writer.add_tokenizer_model("no_vocab")

    def add(name, *sizes):
        if len(sizes) == 1:  # norms
            writer.add_tensor(name, numpy.ones(sizes, numpy.float32))
            return
        bits = (random.standard_normal(sizes, numpy.float32) * numpy.float32(0.02)).view(numpy.uint32)
        writer.add_tensor(name, (bits >> 16).astype(numpy.uint16).view(numpy.uint8).reshape(sizes[0], -1),
                          raw_dtype=gguf.GGMLQuantizationType.BF16)

    kv = hidden // heads * kv_heads
    add("token_embd.weight", vocabulary, hidden)
    add("output_norm.weight", hidden)
    add("output.weight", vocabulary, hidden)
    for layer in range(layers):
        for name, *sizes in (("attn_norm", hidden), ("attn_q", hidden, hidden), ("attn_k", kv, hidden),
                             ("attn_v", kv, hidden), ("attn_output", hidden, hidden), ("ffn_norm", hidden),
                             ("ffn_gate", wide, hidden), ("ffn_up", wide, hidden), ("ffn_down", hidden, wide)):
            add(f"blk.{layer}.{name}.weight", *sizes)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def peer(options):
    """Returns tokens per second by test ("pp512", "tg128"), and llama.cpp's commit."""
    text = subprocess.run([options.llama_bench, "-m", options.gguf, "-t", str(options.threads), "-ctk", "bf16", "-ctv", "bf16",
                           "-p", ",".join(map(str, options.prompts)), "-n", str(options.new), "-r", str(options.repetitions),
                           "-o", "json"], check=True, capture_output=True, text=True).stdout
    rows = json.loads(text)
    return {"pp%d" % row["n_prompt"] if row["n_prompt"] else "tg%d" % row["n_gen"]: statistics.median(row["samples_ts"])
            for row in rows}, rows[0]["build_commit"]


def ours(options):
    """Returns Reprise's tokens per second and share of this machine's limit, by test."""
    text = subprocess.run([options.build / "bin" / "reprise", "bench", "--model", options.shape, "--random-weights", "--dtype",
                           "bf16", "--threads", str(options.threads), "-p", ",".join(map(str, options.prompts)), "-n", str(options.new),
                           "-r", str(options.repetitions), "--format", "csv"],
                          check=True, capture_output=True, text=True).stdout
    rows = list(csv.DictReader(io.StringIO(text)))
    names = [f"pp{tokens}" for tokens in options.prompts] + [f"tg{options.new}"]
    return {name: {"tokens_per_s": float(row["tokens/s"].split()[0]), "of_the_limit": row["of this machine's limit"]}
            for name, row in zip(names, rows, strict=True)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release")
    parser.add_argument("--llama-bench", type=pathlib.Path, required=True)
    parser.add_argument("--gguf", type=pathlib.Path, required=True)
    parser.add_argument("--shape", default="tinyllama-1.1b", help="name of a shipped Llama shape")
    parser.add_argument("--prompts", type=int, nargs="+", default=[512])
    parser.add_argument("--new", type=int, default=128)
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=pathlib.Path)
    options = parser.parse_args()
    if not options.gguf.exists():
        shape = json.loads((ROOT / "models/shapes" / f"{options.shape}.json").read_text())
        make_gguf(options.gguf, shape, options.seed)
    version = subprocess.run([options.build / "bin" / "reprise", "--version"], check=True, capture_output=True, text=True).stdout
    report = {"peer": "", "shape": options.shape, "threads": options.threads, "repetitions": options.repetitions,
              "seed": options.seed, "reprise": version.splitlines(), "rounds": []}
    for turn in range(options.rounds):
        timed = {}
        for side in (("ours", "peer") if turn % 2 == 0 else ("peer", "ours")):
            if side == "ours":
                timed[side] = ours(options)
            else:
                timed[side], report["peer"] = peer(options)
        report["rounds"].append(timed)
        print(json.dumps(timed), flush=True)
    report["peer"] = f"llama.cpp {report['peer']}"
    report["ratios"] = {}
    for name in report["rounds"][0]["peer"]:
        ratios = sorted(timed["ours"][name]["tokens_per_s"] / timed["peer"][name] for timed in report["rounds"])
        quarters = statistics.quantiles(ratios, n=4, method="inclusive") if len(ratios) > 1 else 3 * ratios
        report["ratios"][name] = {"q1": quarters[0], "median": quarters[1], "q3": quarters[2]}
        print(f"{name}: Reprise's rate is {quarters[1]:.2f} times llama.cpp's ({quarters[0]:.2f} to {quarters[2]:.2f})")
    if options.out:
        options.out.write_text(json.dumps(report, indent=2) + "\n")


if __name__ == "__main__":
    main()
