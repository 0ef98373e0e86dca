#!/usr/bin/env python3
"""OpenVINO GenAI's continuous batching as a peer (see peer.py), with prefix caching where prompts share a beginning. Random
weights. optimum-intel exports the model.

    python3 -m pip install openvino-genai optimum-intel torch transformers
"""
import os
import subprocess
import sys

import peer


def export(shape, dtype, seed, folder):
    """Writes a model with random weights for OpenVINO, without a tokenizer."""
    import torch
    import transformers
    from optimum.exporters.openvino import export_from_model
    from optimum.intel.openvino import OVConfig
    torch.manual_seed(seed)
    config = transformers.AutoConfig.for_model(**shape)
    config.torch_dtype = {"f32": torch.float32, "bf16": torch.bfloat16}[dtype]
    model = transformers.AutoModelForCausalLM.from_config(config, torch_dtype=config.torch_dtype).eval()
    # OpenVINO keeps 16-bit weights as f16.
    export_from_model(model, folder, task="text-generation-with-past", preprocessors=[],
                      ov_config=OVConfig(dtype="fp32" if dtype == "f32" else "fp16"), patch_16bit_model=dtype == "bf16")


def exported(options):
    def make(folder):
        # In a process of its own, whose memory is gone afterwards.
        call = f"import openvino_peer; openvino_peer.export({options.shape!r}, {options.dtype!r}, {options.seed}, {str(folder)!r})"
        ran = subprocess.run([sys.executable, "-c", call], cwd=os.path.dirname(os.path.abspath(__file__)), text=True,
                             stderr=subprocess.PIPE, check=False)
        if ran.returncode != 0:
            raise peer.Unable(f"optimum-intel cannot export the model: {ran.stderr.strip()[-400:]}")

    return peer.made_once(options, "openvino-{}", make)


class OpenVino:
    def __init__(self, options):
        import numpy
        import openvino
        import openvino_genai
        self.numpy, self.openvino, self.genai = numpy, openvino, openvino_genai
        shape = options.shape
        head_dim = shape.get("head_dim") or shape["hidden_size"] // shape["num_attention_heads"]
        kv_heads = shape.get("num_key_value_heads") or shape["num_attention_heads"]
        kv_bytes = 2 * 4 * shape["num_hidden_layers"] * kv_heads * head_dim * options.tokens * (options.batch + 1)
        self.scheduler = openvino_genai.SchedulerConfig()
        self.scheduler.enable_prefix_caching = True
        self.scheduler.cache_size = kv_bytes // 2**30 + 1
        self.scheduler.max_num_seqs = options.batch
        self.scheduler.max_num_batched_tokens = max(2048, options.tokens)
        self.scheduler.dynamic_split_fuse = True
        # The plugin computes in bf16, and keeps keys and values in it, only on a processor that has bf16.
        can_bf16 = "BF16" in openvino.Core().get_property("CPU", "OPTIMIZATION_CAPABILITIES")
        precision = {name: wanted if can_bf16 else "f32" for name, wanted in
                     (("INFERENCE_PRECISION_HINT", options.dtype), ("KV_CACHE_PRECISION", options.kv_dtype))}
        self.precision = "weights {}, computes in {}, KV cache {}".format("f32" if options.dtype == "f32" else "f16",
                                                                          *precision.values())
        self.pipeline = openvino_genai.ContinuousBatchingPipeline(
            str(exported(options)), self.scheduler, "CPU", {**precision, "INFERENCE_NUM_THREADS": options.threads})
        self.requests = 0
        self.prefix = []

    def add(self, prompt, new_tokens):
        config = self.genai.GenerationConfig()
        config.max_new_tokens = new_tokens
        config.ignore_eos = True
        config.do_sample = False
        ids = self.openvino.Tensor(self.numpy.asarray([prompt], dtype=self.numpy.int64))
        self.requests += 1
        return self.pipeline.add_request(self.requests, ids, config)

    def batch(self, prompts, new_tokens):
        clock = peer.Clock()
        handles = [self.add(prompt, new_tokens) for prompt in prompts]
        while self.pipeline.has_non_finished_requests():
            self.pipeline.step()
            came = []
            for sequence, handle in enumerate(handles):
                while handle.can_read():
                    came += [sequence for output in handle.read().values() for _ in output.generated_ids]
            clock.add(came)
        return clock

    def run(self, prompts, shared_tokens, new_tokens):
        prefix = prompts[0][:shared_tokens]
        if prefix and prefix != self.prefix:
            self.batch([prefix], 1)
            self.prefix = prefix
        return self.batch(prompts, new_tokens)


if __name__ == "__main__":
    peer.serve({"openvino-genai": "openvino_genai", "openvino": "openvino", "optimum-intel": "optimum.intel",
                "torch": "torch", "transformers": "transformers"}, OpenVino)
