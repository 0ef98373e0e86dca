#!/usr/bin/env python3
"""Hugging Face transformers on PyTorch, as a peer (see peer.py). Random weights. A shared prefix is computed once; each batch
gets a copy of its keys and values, as transformers' documentation advises.

    python3 -m pip install torch transformers
"""
import copy

import peer


class Transformers:
    def __init__(self, options):
        import torch
        import transformers
        torch.set_num_threads(options.threads)
        torch.manual_seed(options.seed)
        self.torch, self.transformers = torch, transformers
        self.precision = f"weights and KV cache {options.dtype}"
        if options.kv_dtype != options.dtype:
            raise peer.Unable(f"transformers keeps keys and values as {options.dtype}, the dtype of the weights")
        config = transformers.AutoConfig.for_model(**options.shape)
        dtype = {"f32": torch.float32, "bf16": torch.bfloat16}[options.dtype]
        with torch.device("meta"):
            model = transformers.AutoModelForCausalLM.from_config(config).to(dtype)
        self.model = model.to_empty(device="cpu").eval()
        with torch.inference_mode():
            for parameter in self.model.parameters():
                parameter.uniform_(-0.02, 0.02)
        for module in self.model.modules():  # buffers, such as the rotary frequencies, were made without data
            if type(module).__name__.endswith("RotaryEmbedding"):
                module.__init__(config)
        self.prefix, self.prefix_cache = None, None

    def forward(self, ids, cache):
        return self.model(ids, past_key_values=cache, use_cache=True, logits_to_keep=1).logits[:, -1].argmax(-1)

    def cache_of(self, prefix, batch):
        cache = copy.deepcopy(self.prefix_cache)
        if prefix and batch > 1:
            cache.batch_repeat_interleave(batch)
        return cache

    def run(self, prompts, shared_tokens, new_tokens):
        torch = self.torch
        with torch.inference_mode():
            prefix = prompts[0][:shared_tokens]
            if self.prefix != prefix:
                self.prefix, self.prefix_cache = prefix, self.transformers.DynamicCache()
                if prefix:
                    self.forward(torch.tensor([prefix]), self.prefix_cache)
            ids = torch.tensor([prompt[shared_tokens:] for prompt in prompts])
            sequences = range(len(prompts))
            clock = peer.Clock()
            cache = self.cache_of(prefix, len(prompts))
            for _ in range(new_tokens):
                next_tokens = self.forward(ids, cache)
                ids = next_tokens[:, None]
                next_tokens.tolist()
                clock.add(sequences)
        return clock


if __name__ == "__main__":
    peer.serve({"torch": "torch", "transformers": "transformers"}, Transformers)
