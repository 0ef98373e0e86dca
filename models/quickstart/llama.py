"""A Llama in plain PyTorch, written to be read: the definition that trains the quickstart model.

Tensors are named as in Hugging Face's LlamaForCausalLM, so state_dict() is the checkpoint.
Dimension names follow the C++ runtime: tokens, heads, kv_heads, head_dim, hidden, layers, vocab.
"""

from dataclasses import dataclass

import torch
from torch import nn
from torch.nn import functional as F


@dataclass(frozen=True)
class LlamaConfig:
    vocab: int = 2048
    hidden: int = 256
    layers: int = 5
    heads: int = 8
    kv_heads: int = 4
    head_dim: int = 32
    intermediate: int = 512
    max_positions: int = 2048
    rope_theta: float = 10000.0
    norm_epsilon: float = 1e-5

    def to_hugging_face(self, dtype):
        return {
            "architectures": ["LlamaForCausalLM"],
            "model_type": "llama",
            "vocab_size": self.vocab,
            "hidden_size": self.hidden,
            "intermediate_size": self.intermediate,
            "num_hidden_layers": self.layers,
            "num_attention_heads": self.heads,
            "num_key_value_heads": self.kv_heads,
            "head_dim": self.head_dim,
            "hidden_act": "silu",
            "max_position_embeddings": self.max_positions,
            "rms_norm_eps": self.norm_epsilon,
            "rope_theta": self.rope_theta,
            "rope_scaling": None,
            "attention_bias": False,
            "mlp_bias": False,
            "attention_dropout": 0.0,
            "initializer_range": 0.02,
            "tie_word_embeddings": True,
            "bos_token_id": 1,
            "eos_token_id": 2,
            "use_cache": True,
            "torch_dtype": dtype,
        }

    @staticmethod
    def from_hugging_face(json):
        return LlamaConfig(
            vocab=json["vocab_size"],
            hidden=json["hidden_size"],
            layers=json["num_hidden_layers"],
            heads=json["num_attention_heads"],
            kv_heads=json["num_key_value_heads"],
            head_dim=json["head_dim"],
            intermediate=json["intermediate_size"],
            max_positions=json["max_position_embeddings"],
            rope_theta=json["rope_theta"],
            norm_epsilon=json["rms_norm_eps"],
        )


def rotary_table(config, tokens):
    """cos, sin [tokens, head_dim]; dimension i turns with dimension i + head_dim / 2 (the
    half-rotation convention)."""
    inverse_frequency = config.rope_theta ** -(
        torch.arange(0, config.head_dim, 2).double() / config.head_dim
    )
    angle = torch.arange(tokens).double()[:, None] * inverse_frequency
    angle = torch.cat([angle, angle], dim=-1)
    return angle.cos().float(), angle.sin().float()


def rotate(x, cos, sin):
    """x [..., tokens, head_dim]"""
    first, second = x.chunk(2, dim=-1)
    return x * cos + torch.cat([-second, first], dim=-1) * sin


class RmsNorm(nn.Module):
    """y = x / sqrt(mean(x^2) + epsilon) * weight, the mean in f32."""

    def __init__(self, size, epsilon):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))
        self.epsilon = epsilon

    def forward(self, x):
        return F.rms_norm(x, self.weight.shape, self.weight, self.epsilon)


class Attention(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config
        q_dim, kv_dim = config.heads * config.head_dim, config.kv_heads * config.head_dim
        self.q_proj = nn.Linear(config.hidden, q_dim, bias=False)
        self.k_proj = nn.Linear(config.hidden, kv_dim, bias=False)
        self.v_proj = nn.Linear(config.hidden, kv_dim, bias=False)
        self.o_proj = nn.Linear(q_dim, config.hidden, bias=False)

    def forward(self, x, cos, sin, cache=None):
        """x [batch, tokens, hidden]; cache: None, or a list that holds this layer's (k, v) so far
        and is extended."""
        batch, tokens, _ = x.shape

        def split(y):  # -> [batch, heads or kv_heads, tokens, head_dim]
            return y.view(batch, tokens, -1, self.config.head_dim).transpose(1, 2)

        q, k, v = split(self.q_proj(x)), split(self.k_proj(x)), split(self.v_proj(x))
        q, k = rotate(q, cos, sin), rotate(k, cos, sin)
        if cache is not None:
            if cache:
                k, v = torch.cat([cache[0], k], dim=2), torch.cat([cache[1], v], dim=2)
            cache[:] = [k, v]
        # Query head h reads key/value head h // (heads / kv_heads).
        group = self.config.heads // self.config.kv_heads
        k, v = k.repeat_interleave(group, dim=1), v.repeat_interleave(group, dim=1)
        if k.shape[2] == tokens:
            out = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        else:
            assert tokens == 1, "a cached step takes one token"
            out = F.scaled_dot_product_attention(q, k, v)
        return self.o_proj(out.transpose(1, 2).reshape(batch, tokens, -1))


class Mlp(nn.Module):
    """down(silu(gate(x)) * up(x))"""

    def __init__(self, config):
        super().__init__()
        self.gate_proj = nn.Linear(config.hidden, config.intermediate, bias=False)
        self.up_proj = nn.Linear(config.hidden, config.intermediate, bias=False)
        self.down_proj = nn.Linear(config.intermediate, config.hidden, bias=False)

    def forward(self, x):
        return self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x))


class DecoderLayer(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.input_layernorm = RmsNorm(config.hidden, config.norm_epsilon)
        self.self_attn = Attention(config)
        self.post_attention_layernorm = RmsNorm(config.hidden, config.norm_epsilon)
        self.mlp = Mlp(config)

    def forward(self, x, cos, sin, cache=None):
        x = x + self.self_attn(self.input_layernorm(x), cos, sin, cache)
        return x + self.mlp(self.post_attention_layernorm(x))


class Decoder(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.embed_tokens = nn.Embedding(config.vocab, config.hidden)
        self.layers = nn.ModuleList(DecoderLayer(config) for _ in range(config.layers))
        self.norm = RmsNorm(config.hidden, config.norm_epsilon)


class Llama(nn.Module):
    """The head is the embedding (tied), so the checkpoint holds no lm_head.weight."""

    def __init__(self, config):
        super().__init__()
        self.config = config
        self.model = Decoder(config)
        cos, sin = rotary_table(config, config.max_positions)
        self.register_buffer("cos", cos, persistent=False)
        self.register_buffer("sin", sin, persistent=False)
        self.initialize()

    @torch.no_grad()
    def initialize(self):
        """Small normal weights, except that the first two layers begin with induction heads.

        Copying from the context is what this model is for, and what a short run learns last if it
        starts from noise. So two key/value heads of layer 0 look at the token before (a query and a
        key that ignore the token and whose rotations agree one step apart), and write a sketch of
        it; layer 1 looks for tokens whose sketch agrees with the present token, and adds what it
        finds there to the residual stream, which makes it likelier, as the head is the embedding.
        Training is free to undo all of it.
        """
        config, dim, half = self.config, self.config.head_dim, self.config.head_dim // 2
        group = config.heads // config.kv_heads

        def per_query_head(weight):  # [kv_dim, hidden] -> [q_dim, hidden]
            split = weight.view(config.kv_heads, dim, config.hidden)
            return split.repeat_interleave(group, dim=0).flatten(0, 1)

        for name, weight in self.named_parameters():
            if weight.dim() == 2:
                nn.init.normal_(weight, std=0.05 if "embed" in name else 0.4 * config.hidden**-0.5)
        for layer in self.model.layers:
            attention = layer.self_attn
            attention.q_proj.weight.mul_(0.5).add_(per_query_head(attention.k_proj.weight))
            attention.o_proj.weight.copy_(0.2 * per_query_head(attention.v_proj.weight).T)
            layer.mlp.down_proj.weight.mul_(0.3)
        self.model.norm.weight.fill_(0.5)

        # Dimension 0 is the same for all tokens: after the norm it is about `constant`.
        self.model.embed_tokens.weight[:, 0] = 0.35
        constant = 0.35 / (0.05**2 + 0.35**2 / config.hidden) ** 0.5

        first, second = self.model.layers[0].self_attn, self.model.layers[1].self_attn
        sketch_dims = 2 * dim
        turns = config.rope_theta ** -(torch.arange(half) / half)
        loud = 8.0  # summand of the score per frequency, for the six fastest
        size = (loud * dim**0.5) ** 0.5 / constant
        for head in range(2 * group):
            rows = first.q_proj.weight[head * dim : (head + 1) * dim]
            rows.zero_()
            rows[:6, 0] = size * turns[:6].cos()
            rows[half : half + 6, 0] = -size * turns[:6].sin()
        for head in range(2):
            rows = first.k_proj.weight[head * dim : (head + 1) * dim]
            rows.zero_()
            rows[:6, 0] = size
        sketch = torch.randn(sketch_dims, config.hidden) * config.hidden**-0.5
        sketch[:, 0] = 0
        first.v_proj.weight[:sketch_dims] = sketch
        place = torch.linalg.qr(torch.randn(config.hidden - 1, sketch_dims)).Q
        place = torch.cat([torch.zeros(1, sketch_dims), place])  # where in the stream it is written
        for head in range(2 * group):
            kv_head = head // group
            first.o_proj.weight[:, head * dim : (head + 1) * dim] = (
                0.11 / group * place[:, kv_head * dim : (kv_head + 1) * dim]
            )

        # Layer 1 compares in the slowly turning dimensions, so that distance matters little.
        slow = torch.cat([torch.arange(9, half), torch.arange(half + 9, dim)])
        for kv_head in range(config.kv_heads):
            mix = torch.linalg.qr(torch.randn(sketch_dims, len(slow))).Q.T
            keys = second.k_proj.weight[kv_head * dim : (kv_head + 1) * dim]
            keys.mul_(0.2)
            keys[slow] = 2.1 * mix @ place.T
            for head in range(kv_head * group, (kv_head + 1) * group):
                queries = second.q_proj.weight[head * dim : (head + 1) * dim]
                queries.mul_(0.2)
                queries[slow] = 2.1 * mix @ sketch
        values = torch.randn_like(second.v_proj.weight) * config.hidden**-0.5
        values[:, 0] = 0
        second.v_proj.weight.copy_(values)
        second.o_proj.weight.copy_(0.6 / group * per_query_head(values).T)

    def forward(self, ids, caches=None):
        """ids [batch, tokens] -> logits [batch, tokens, vocab]. caches: None, or one list per layer
        (see Attention)."""
        tokens = ids.shape[1]
        first = caches[0][0].shape[2] if caches and caches[0] else 0
        cos, sin = self.cos[first : first + tokens], self.sin[first : first + tokens]
        x = self.model.embed_tokens(ids)
        for index, layer in enumerate(self.model.layers):
            x = layer(x, cos, sin, caches[index] if caches else None)
        return F.linear(self.model.norm(x), self.model.embed_tokens.weight)

    def parameters_count(self):
        return sum(parameter.numel() for parameter in self.parameters())


@torch.no_grad()
def generate(model, ids, count, stops=()):
    """Greedy continuation of one prompt with a cache, ending with the first of `stops`. Returns the
    new ids and, per step, the gap between the largest and the second largest logit."""
    caches = [[] for _ in model.model.layers]
    step, out, margins = torch.tensor([ids]), [], []
    for _ in range(count):
        top = model(step, caches)[0, -1].topk(2)
        out.append(int(top.indices[0]))
        margins.append(float(top.values[0] - top.values[1]))
        if out[-1] in stops:
            break
        step = torch.tensor([[out[-1]]])
    return out, margins
