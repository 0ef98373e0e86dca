#!/usr/bin/env python3
"""llama.cpp as a peer (see peer.py), through the binding llama-cpp-python, which compiles it for this processor. Random weights
of a Llama's shape. All sequences share one KV cache; a shared prefix is computed once and its cells are given to each sequence.

    python3 -m pip install llama-cpp-python gguf
"""
import peer

STEP_TOKENS = 2048  # tokens of a prefill step


def write_gguf(path, shape, dtype, seed):
    """Writes a Llama with random weights, without a vocabulary."""
    import gguf
    import numpy
    random = numpy.random.default_rng(seed)
    hidden, wide, layers = shape["hidden_size"], shape["intermediate_size"], shape["num_hidden_layers"]
    heads = shape["num_attention_heads"]
    kv_heads, vocabulary = shape.get("num_key_value_heads") or heads, shape["vocab_size"]
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
    writer.add_file_type(gguf.LlamaFileType.MOSTLY_BF16 if dtype == "bf16" else gguf.LlamaFileType.ALL_F32)
    writer.add_tokenizer_model("no_vocab")

    def add(name, *sizes):
        if len(sizes) == 1:  # norms
            writer.add_tensor(name, numpy.ones(sizes, numpy.float32))
            return
        values = random.standard_normal(sizes, numpy.float32) * numpy.float32(0.02)
        if dtype == "f32":
            writer.add_tensor(name, values)
            return
        halves = (values.view(numpy.uint32) >> 16).astype(numpy.uint16).view(numpy.uint8)
        writer.add_tensor(name, halves.reshape(sizes[0], -1), raw_dtype=gguf.GGMLQuantizationType.BF16)

    kv = hidden // heads * kv_heads
    add("token_embd.weight", vocabulary, hidden)
    add("output_norm.weight", hidden)
    if not shape.get("tie_word_embeddings"):
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


def gguf_of(options):
    shape = options.shape
    head_dim = shape.get("head_dim") or shape["hidden_size"] // shape["num_attention_heads"]
    if (shape.get("model_type") != "llama" or shape.get("rope_scaling") or shape.get("attention_bias") or
            head_dim * shape["num_attention_heads"] != shape["hidden_size"]):
        raise peer.Unable("random weights for llama.cpp are made of a plain Llama's shape alone: no scaled rotary embeddings, no "
                          "biases, heads that divide the hidden size")
    return peer.made_once(options, "llama-cpp-{}.gguf", lambda path: write_gguf(path, shape, options.dtype, options.seed))


class LlamaCpp:
    def __init__(self, options):
        import gguf
        import llama_cpp
        import numpy
        self.api, self.numpy = llama_cpp, numpy
        self.batch_size, self.vocabulary = options.batch, options.shape["vocab_size"]
        self.precision = (f"weights {options.dtype}, KV cache {options.kv_dtype}; " +
                          llama_cpp.llama_print_system_info().decode())
        path = gguf_of(options)
        llama_cpp.llama_backend_init()
        of_model = llama_cpp.llama_model_default_params()
        of_model.n_gpu_layers = 0
        self.model = llama_cpp.llama_model_load_from_file(str(path).encode(), of_model)
        if not self.model:
            raise peer.Unable(f"llama.cpp cannot load {path}")
        settings = llama_cpp.llama_context_default_params()
        settings.n_ctx = options.tokens * (options.batch + 1)
        settings.n_batch = STEP_TOKENS
        settings.n_seq_max = options.batch + 1  # one more for the prefix
        settings.n_threads = settings.n_threads_batch = options.threads
        settings.type_k = settings.type_v = int(gguf.GGMLQuantizationType[options.kv_dtype.upper()])
        settings.kv_unified = True
        self.context = llama_cpp.llama_init_from_model(self.model, settings)
        if not self.context:
            raise peer.Unable("llama.cpp cannot make a context")
        self.memory = llama_cpp.llama_get_memory(self.context)
        self.batch = llama_cpp.llama_batch_init(STEP_TOKENS, 0, 1)
        self.prefix = []

    def decode(self, entries):
        """Computes entries of (token, position, sequence, wants logits), and returns the greedy token of each sequence that
        wants logits."""
        found = {}
        for begin in range(0, len(entries), STEP_TOKENS):
            step = entries[begin:begin + STEP_TOKENS]
            self.batch.n_tokens = len(step)
            for i, (token, position, sequence, wants_logits) in enumerate(step):
                self.batch.token[i], self.batch.pos[i] = token, position
                self.batch.n_seq_id[i], self.batch.seq_id[i][0] = 1, sequence
                self.batch.logits[i] = wants_logits
            if status := self.api.llama_decode(self.context, self.batch):
                raise RuntimeError(f"llama_decode() returned {status}")
            for i, (_, _, sequence, wants_logits) in enumerate(step):
                if wants_logits:
                    logits = self.api.llama_get_logits_ith(self.context, i)
                    row = self.numpy.ctypeslib.as_array(logits, shape=(self.vocabulary,))
                    found[sequence] = int(row.argmax())
        return found

    def keep_prefix(self, prefix):
        own = self.batch_size
        for sequence in range(own):
            self.api.llama_memory_seq_rm(self.memory, sequence, -1, -1)
        if prefix != self.prefix:
            self.api.llama_memory_seq_rm(self.memory, own, -1, -1)
            self.decode([(token, at, own, False) for at, token in enumerate(prefix)])
            self.prefix = prefix

    def run(self, prompts, shared_tokens, new_tokens):
        self.keep_prefix(prompts[0][:shared_tokens])
        clock = peer.Clock()
        entries = []
        for sequence, prompt in enumerate(prompts):
            if shared_tokens:
                self.api.llama_memory_seq_cp(self.memory, self.batch_size, sequence, -1, -1)
            entries += [(token, at, sequence, at == len(prompt) - 1) for at, token in enumerate(prompt) if at >= shared_tokens]
        tokens = self.decode(entries)
        clock.add(tokens)
        for step in range(1, new_tokens):
            tokens = self.decode([(token, len(prompts[sequence]) + step - 1, sequence, True)
                                  for sequence, token in tokens.items()])
            clock.add(tokens)
        return clock


if __name__ == "__main__":
    peer.serve({"llama-cpp-python": "llama_cpp", "gguf": "gguf", "numpy": "numpy"}, LlamaCpp)
