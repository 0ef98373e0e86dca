#!/usr/bin/env python3
"""Times PyTorch and Hugging Face transformers on the shapes of model_bench and attention_bench, for comparison.

Needs torch and transformers (no GPU): python3 -m venv V && V/bin/pip install torch transformers
Prints one JSON object: {"name": seconds, ...}, the median of several runs each, with versions.
"""
import argparse
import json
import os
import statistics
import sys
import time

import torch

TINYLLAMA = dict(vocab_size=32000, hidden_size=2048, intermediate_size=5632, num_hidden_layers=22,
                 num_attention_heads=32, num_key_value_heads=4, max_position_embeddings=8192)
LLAMA_2_7B = dict(vocab_size=32000, hidden_size=4096, intermediate_size=11008, num_hidden_layers=32,
                  num_attention_heads=32, num_key_value_heads=32, max_position_embeddings=4096)


def median_time(run, repetitions):
    run()
    times = []
    for _ in range(repetitions):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def sdpa(results, repetitions):
    q, k, v = (torch.randn(1, 32, 2048, 128, dtype=torch.bfloat16) for _ in range(3))
    results["causal_attention_h32_d128_n2048"] = median_time(
        lambda: torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True), 3 * repetitions)


def model(results, name, shape, prompts, repetitions):
    import transformers
    results["transformers"] = transformers.__version__
    config = transformers.LlamaConfig(**shape)
    with torch.device("meta"):
        llama = transformers.LlamaForCausalLM(config).to(torch.bfloat16)
    llama = llama.to_empty(device="cpu")
    for parameter in llama.parameters():
        parameter.data.uniform_(-0.02, 0.02)
    llama.model.rotary_emb.__init__(config)  # its buffers were made without data
    llama.eval()
    for tokens in prompts:
        ids = torch.randint(0, 32000, (1, tokens))
        results[f"{name}_prefill_{tokens}"] = median_time(
            lambda: llama(ids, use_cache=True, logits_to_keep=1), repetitions)
    out = llama(torch.randint(0, 32000, (1, 64)), use_cache=True, logits_to_keep=1)
    cache, token = out.past_key_values, torch.zeros(1, 1, dtype=torch.long)
    results[f"{name}_decode_64"] = median_time(
        lambda: llama(token, past_key_values=cache, use_cache=True, logits_to_keep=1), 8 * repetitions)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--what", nargs="+", choices=["attention", "tinyllama", "llama-2-7b"],
                        default=["attention", "tinyllama"])
    parser.add_argument("--prompts", nargs="+", type=int, default=[512, 4096])
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--repetitions", type=int, default=2)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    results = {"torch": torch.__version__}
    with torch.inference_mode():
        if "attention" in args.what:
            sdpa(results, args.repetitions)
        if "tinyllama" in args.what:
            model(results, "tinyllama", TINYLLAMA, args.prompts, args.repetitions)
        if "llama-2-7b" in args.what:
            model(results, "llama-2-7b", LLAMA_2_7B, args.prompts, args.repetitions)
    json.dump(results, sys.stdout)
    print()


if __name__ == "__main__":
    main()
