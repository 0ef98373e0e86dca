"""Llama, MPT and Falcon style decoders in plain PyTorch, written to be read: the definitions that
train the recall models.

Tensors are named as in Hugging Face's classes, so state_dict() is the checkpoint. Dimension names
follow the C++ runtime: tokens, heads, kv_heads, head_dim, hidden, layers, vocab.
"""

from dataclasses import dataclass

import torch
from torch import nn
from torch.nn import functional as F


@dataclass(frozen=True)
class DecoderConfig:
    family: str  # llama, mpt or falcon
    vocab: int
    hidden: int = 128
    layers: int = 5
    heads: int = 4
    kv_heads: int = 4
    intermediate: int = 384
    max_positions: int = 1024
    rope_theta: float = 10000.0
    norm_epsilon: float = 1e-5

    @property
    def head_dim(self):
        return self.hidden // self.heads


def default_config(family, vocab):
    if family == "llama":
        return DecoderConfig(family, vocab, kv_heads=2, intermediate=256)
    return DecoderConfig(family, vocab, kv_heads=4 if family == "mpt" else 1)


def to_hugging_face(config, dtype):
    """The content of config.json."""
    common = {
        "vocab_size": config.vocab,
        "tie_word_embeddings": True,
        "bos_token_id": 1,
        "eos_token_id": 2,
        "use_cache": True,
        "initializer_range": 0.02,
        "torch_dtype": dtype,
    }
    if config.family == "llama":
        return {
            "architectures": ["LlamaForCausalLM"],
            "model_type": "llama",
            "hidden_size": config.hidden,
            "intermediate_size": config.intermediate,
            "num_hidden_layers": config.layers,
            "num_attention_heads": config.heads,
            "num_key_value_heads": config.kv_heads,
            "head_dim": config.head_dim,
            "hidden_act": "silu",
            "max_position_embeddings": config.max_positions,
            "rms_norm_eps": config.norm_epsilon,
            "rope_theta": config.rope_theta,
            "rope_scaling": None,
            "attention_bias": False,
            "mlp_bias": False,
            **common,
        }
    if config.family == "mpt":
        return {
            "architectures": ["MptForCausalLM"],
            "model_type": "mpt",
            "d_model": config.hidden,
            "n_heads": config.heads,
            "n_layers": config.layers,
            "expansion_ratio": config.intermediate // config.hidden,
            "max_seq_len": config.max_positions,
            "no_bias": True,
            "norm_type": "low_precision_layernorm",
            "layer_norm_epsilon": config.norm_epsilon,
            "attn_config": {
                "alibi": True,
                "alibi_bias_max": 8,
                "attn_type": "multihead_attention",
                "clip_qkv": None,
                "prefix_lm": False,
                "qk_ln": False,
                "softmax_scale": None,
            },
            **common,
        }
    return {
        "architectures": ["FalconForCausalLM"],
        "model_type": "falcon",
        "hidden_size": config.hidden,
        "num_hidden_layers": config.layers,
        "num_attention_heads": config.heads,
        "ffn_hidden_size": config.intermediate,
        "multi_query": True,
        "parallel_attn": True,
        "new_decoder_architecture": False,
        "alibi": False,
        "bias": False,
        "activation": "gelu",
        "max_position_embeddings": config.max_positions,
        "rope_theta": config.rope_theta,
        "layer_norm_epsilon": config.norm_epsilon,
        **common,
    }


def from_hugging_face(json):
    """The DecoderConfig of a config.json that to_hugging_face wrote."""
    if json["model_type"] == "llama":
        return DecoderConfig(
            "llama",
            json["vocab_size"],
            hidden=json["hidden_size"],
            layers=json["num_hidden_layers"],
            heads=json["num_attention_heads"],
            kv_heads=json["num_key_value_heads"],
            intermediate=json["intermediate_size"],
            max_positions=json["max_position_embeddings"],
        )
    if json["model_type"] == "mpt":
        return DecoderConfig(
            "mpt",
            json["vocab_size"],
            hidden=json["d_model"],
            layers=json["n_layers"],
            heads=json["n_heads"],
            kv_heads=json["n_heads"],
            intermediate=json["expansion_ratio"] * json["d_model"],
            max_positions=json["max_seq_len"],
        )
    return DecoderConfig(
        "falcon",
        json["vocab_size"],
        hidden=json["hidden_size"],
        layers=json["num_hidden_layers"],
        heads=json["num_attention_heads"],
        kv_heads=1,
        intermediate=json["ffn_hidden_size"],
        max_positions=json["max_position_embeddings"],
    )


@dataclass
class Places:
    """Where the tokens of a batch stand, for all layers. `bias` is added to the scores before the
    softmax: -inf where a token may not look, and ALiBi's distance term."""

    bias: torch.Tensor  # [batch * heads, tokens, tokens]
    cos: torch.Tensor | None = None  # [batch, 1, tokens, head_dim]
    sin: torch.Tensor | None = None
    scores: torch.Tensor | None = None  # of the block computed last, as `bias`


def places(config, positions, allowed):
    """positions [batch, tokens]; allowed [batch, tokens, tokens], true where the row's token may
    look at the column's."""
    dtype = torch.get_default_dtype()
    bias = torch.zeros(allowed.shape, dtype=dtype).masked_fill_(~allowed, float("-inf"))
    bias = bias[:, None].repeat(1, config.heads, 1, 1)
    if config.family == "mpt":
        # Head h counts 2^(-8 (h + 1) / heads) per token of distance (heads is a power of two).
        slopes = 2.0 ** (-8.0 * torch.arange(1, config.heads + 1, dtype=dtype) / config.heads)
        distance = (positions[:, :, None] - positions[:, None, :]).to(dtype)
        bias -= slopes[:, None, None] * distance[:, None]
        return Places(bias.flatten(0, 1))
    frequency = config.rope_theta ** -(
        torch.arange(0, config.head_dim, 2).double() / config.head_dim
    )
    angle = positions.double()[:, None, :, None] * frequency
    angle = torch.cat([angle, angle], dim=-1)
    return Places(bias.flatten(0, 1), angle.cos().to(dtype), angle.sin().to(dtype))


def causal_places(config, batch, tokens):
    positions = torch.arange(tokens).expand(batch, tokens)
    return places(config, positions, torch.ones(batch, tokens, tokens, dtype=torch.bool).tril())


def rotate(x, at):
    """Dimension i turns with dimension i + head_dim / 2 (the half-rotation convention)."""
    first, second = x.chunk(2, dim=-1)
    return x * at.cos + torch.cat([-second, first], dim=-1) * at.sin


def attend(config, q, k, v, at):
    """q [batch, tokens, heads * head_dim], k and v [batch, tokens, kv_heads * head_dim]"""

    def split(y):
        return y.unflatten(-1, (-1, config.head_dim)).transpose(1, 2)

    q, k, v = split(q), split(k), split(v)
    if at.cos is not None:
        q, k = rotate(q, at), rotate(k, at)
    # Query head h reads key/value head h // (heads / kv_heads).
    group = config.heads // config.kv_heads
    if group > 1:
        k, v = k.repeat_interleave(group, dim=1), v.repeat_interleave(group, dim=1)
    # Written out: on a CPU, and for rows this short, the backward pass of
    # F.scaled_dot_product_attention with a mask costs several times as much.
    q = q * config.head_dim**-0.5
    scores = torch.baddbmm(at.bias, q.flatten(0, 1), k.flatten(0, 1).transpose(1, 2))
    at.scores = scores
    out = (scores.softmax(-1) @ v.flatten(0, 1)).unflatten(0, (-1, config.heads))
    return out.transpose(1, 2).flatten(2)


class RmsNorm(nn.Module):
    """y = x / sqrt(mean(x^2) + epsilon) * weight"""

    def __init__(self, size, epsilon):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))
        self.epsilon = epsilon

    def forward(self, x):
        return F.rms_norm(x, self.weight.shape, self.weight, self.epsilon)


def linear(inputs, outputs):
    return nn.Linear(inputs, outputs, bias=False)


class LlamaBlock(nn.Module):
    """x += attention(norm(x)); x += down(silu(gate(norm(x))) * up(norm(x)))"""

    def __init__(self, config):
        super().__init__()
        self.config = config
        hidden, kv_dim = config.hidden, config.kv_heads * config.head_dim
        self.input_layernorm = RmsNorm(hidden, config.norm_epsilon)
        self.self_attn = nn.ModuleDict(
            {
                "q_proj": linear(hidden, hidden),
                "k_proj": linear(hidden, kv_dim),
                "v_proj": linear(hidden, kv_dim),
                "o_proj": linear(hidden, hidden),
            }
        )
        self.post_attention_layernorm = RmsNorm(hidden, config.norm_epsilon)
        self.mlp = nn.ModuleDict(
            {
                "gate_proj": linear(hidden, config.intermediate),
                "up_proj": linear(hidden, config.intermediate),
                "down_proj": linear(config.intermediate, hidden),
            }
        )

    def forward(self, x, at):
        attention, mlp, y = self.self_attn, self.mlp, self.input_layernorm(x)
        q, k, v = attention["q_proj"](y), attention["k_proj"](y), attention["v_proj"](y)
        x = x + attention["o_proj"](attend(self.config, q, k, v, at))
        y = self.post_attention_layernorm(x)
        return x + mlp["down_proj"](F.silu(mlp["gate_proj"](y)) * mlp["up_proj"](y))

    def attention_weights(self):
        """The weights of q, k, v and of the output."""
        return [self.self_attn[name].weight for name in ("q_proj", "k_proj", "v_proj", "o_proj")]

    def down_weight(self):
        return self.mlp["down_proj"].weight


class MptBlock(nn.Module):
    """x += attention(norm(x)); x += down(gelu(up(norm(x)))), norms without a bias"""

    def __init__(self, config):
        super().__init__()
        self.config = config
        hidden = config.hidden
        self.norm_1 = nn.LayerNorm(hidden, eps=config.norm_epsilon, bias=False)
        self.attn = nn.ModuleDict(
            {"Wqkv": linear(hidden, 3 * hidden), "out_proj": linear(hidden, hidden)}
        )
        self.norm_2 = nn.LayerNorm(hidden, eps=config.norm_epsilon, bias=False)
        self.ffn = nn.ModuleDict(
            {
                "up_proj": linear(hidden, config.intermediate),
                "down_proj": linear(config.intermediate, hidden),
            }
        )

    def forward(self, x, at):
        q, k, v = self.attn["Wqkv"](self.norm_1(x)).chunk(3, dim=-1)
        x = x + self.attn["out_proj"](attend(self.config, q, k, v, at))
        return x + self.ffn["down_proj"](F.gelu(self.ffn["up_proj"](self.norm_2(x))))

    def attention_weights(self):
        return [*self.attn["Wqkv"].weight.chunk(3), self.attn["out_proj"].weight]

    def down_weight(self):
        return self.ffn["down_proj"].weight


class FalconBlock(nn.Module):
    """y = norm(x); x += attention(y) + down(gelu(up(y))), one key and value for all heads"""

    def __init__(self, config):
        super().__init__()
        self.config = config
        hidden = config.hidden
        self.split = [hidden, config.head_dim, config.head_dim]
        self.input_layernorm = nn.LayerNorm(hidden, eps=config.norm_epsilon)
        self.self_attention = nn.ModuleDict(
            {"query_key_value": linear(hidden, sum(self.split)), "dense": linear(hidden, hidden)}
        )
        self.mlp = nn.ModuleDict(
            {
                "dense_h_to_4h": linear(hidden, config.intermediate),
                "dense_4h_to_h": linear(config.intermediate, hidden),
            }
        )

    def forward(self, x, at):
        y = self.input_layernorm(x)
        q, k, v = self.self_attention["query_key_value"](y).split(self.split, dim=-1)
        x = x + self.self_attention["dense"](attend(self.config, q, k, v, at))
        return x + self.mlp["dense_4h_to_h"](F.gelu(self.mlp["dense_h_to_4h"](y)))

    def attention_weights(self):
        stored = self.self_attention
        return [
            *stored["query_key_value"].weight.split(self.split),
            stored["dense"].weight,
        ]

    def down_weight(self):
        return self.mlp["dense_4h_to_h"].weight


@dataclass(frozen=True)
class Names:
    root: str
    embedding: str
    layers: str
    norm: str
    block: type


NAMES = {
    "llama": Names("model", "embed_tokens", "layers", "norm", LlamaBlock),
    "mpt": Names("transformer", "wte", "blocks", "norm_f", MptBlock),
    "falcon": Names("transformer", "word_embeddings", "h", "ln_f", FalconBlock),
}


class Decoder(nn.Module):
    """The head is the embedding (tied), so the checkpoint holds no lm_head.weight."""

    def __init__(self, config):
        super().__init__()
        self.config = config
        self.names = names = NAMES[config.family]
        if config.family == "llama":
            norm = RmsNorm(config.hidden, config.norm_epsilon)
        else:
            norm = nn.LayerNorm(
                config.hidden, eps=config.norm_epsilon, bias=config.family == "falcon"
            )
        root = nn.ModuleDict(
            {
                names.embedding: nn.Embedding(config.vocab, config.hidden),
                names.layers: nn.ModuleList(names.block(config) for _ in range(config.layers)),
                names.norm: norm,
            }
        )
        setattr(self, names.root, root)
        self.initialize()

    @property
    def root(self):
        return getattr(self, self.names.root)

    @property
    def embedding(self):
        return self.root[self.names.embedding].weight

    @property
    def blocks(self):
        return self.root[self.names.layers]

    @torch.no_grad()
    def initialize(self):
        """Normal weights, but attention begins by looking for tokens like the present one (queries
        start near the keys) and by copying what it finds (the output starts as the transposed
        values): recall is built of these two, and plain noise needs long to find them (see
        ../quickstart/llama.py)."""
        config = self.config
        group = config.heads // config.kv_heads

        def per_query_head(weight):  # [kv_dim, hidden] -> [hidden, hidden]
            split = weight.view(config.kv_heads, config.head_dim, config.hidden)
            return split.repeat_interleave(group, dim=0).flatten(0, 1)

        for weight in self.parameters():
            if weight.dim() == 2:
                nn.init.normal_(weight, std=config.hidden**-0.5)
        nn.init.normal_(self.embedding, std=0.1)
        for block in self.blocks:
            q, k, v, out = block.attention_weights()
            k.mul_(0.6)
            q.mul_(0.3).add_(per_query_head(k))
            out.copy_(0.15 * per_query_head(v).T)
            block.down_weight().mul_(0.1)
        self.root[self.names.norm].weight.fill_(0.5)

    def hidden_states(self, ids, at, taps=()):
        """What leaves the last norm [batch, tokens, hidden]; and for each number of blocks in
        `taps` the residual stream after so many, and the last one's attention scores
        [batch, heads, tokens, tokens]."""
        x = self.root[self.names.embedding](ids)
        streams, scores = {}, {}
        for number, block in enumerate(self.blocks, start=1):
            x = block(x, at)
            if number in taps:
                streams[number] = x
                scores[number] = at.scores.unflatten(0, (-1, self.config.heads))
        return self.root[self.names.norm](x), streams, scores

    def forward(self, ids, at=None):
        """ids [batch, tokens] -> logits [batch, tokens, vocab]; causal unless `at` says more."""
        at = at or causal_places(self.config, *ids.shape)
        return F.linear(self.hidden_states(ids, at)[0], self.embedding)

    def parameters_count(self):
        return sum(parameter.numel() for parameter in self.parameters())


@torch.no_grad()
def generate(model, ids, count, stops=()):
    """Greedy continuation of one prompt, ending with the first of `stops`; every step reads the
    whole text again. Returns the new ids and, per step, the gap between the largest and the second
    largest logit."""
    ids, out, margins = list(ids), [], []
    for _ in range(count):
        top = model(torch.tensor([ids]))[0, -1].topk(2)
        out.append(int(top.indices[0]))
        ids.append(out[-1])
        margins.append(float(top.values[0] - top.values[1]))
        if out[-1] in stops:
            break
    return out, margins
