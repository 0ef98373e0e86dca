"""Trains the quickstart model on generated text and writes it as a Hugging Face folder.

    python3 make_tokenizer.py
    python3 train.py --out .

AdamW, a short linear warm-up, then a cosine to zero. Every batch is new text (nothing is seen
twice), packed so that each row begins with a document; rows grow from 128 to 2048 tokens. The
weights are f32 while training, products are bf16 (autocast), and what is written is bf16. The text
and the initial weights depend on the seed alone; bits of the result also depend on the processor
and the version of PyTorch.
"""

import argparse
import json
import math
import pathlib
import time
from dataclasses import dataclass, replace

import numpy as np
import sentencepiece
import torch
from safetensors.torch import load_file, save_file
from torch.nn import functional as F

from llama import Llama, LlamaConfig
from make_text import FIRST_KINDS, KINDS, documents
from text.grammar import Rng


@dataclass(frozen=True)
class Stage:
    """A part of the run: so many steps of rows cut from one stream of documents."""

    steps: int
    stream: str
    kinds: tuple
    tokens: int  # of a step
    row_tokens: tuple  # (length of a row, weight)


# Short rows first: attention spread over many tokens shows little gradient toward the one that
# matters. Tried and lost, each without a single right lookup: rows of 512 to 2048 tokens from the
# start with a learning rate of 2.5e-3 (2.2 million tokens, 0 of 40); short rows with the same rate
# (0.5 million, 0 of 80). Both began from plain normal weights. From the induction heads that Llama
# starts with, 2.5e-3 had erased them after 150 steps; 1e-3 keeps them.
STAGES = (
    Stage(250, "first", FIRST_KINDS, 1024, ((128, 1),)),
    Stage(450, "short", KINDS, 2048, ((256, 1),)),
    Stage(1000, "train", KINDS, 2048, ((512, 6), (1024, 3), (2048, 1))),
)


class Packer:
    """Cuts a stream of documents into rows. A document is <s> ... </s>; the last one of a row is
    cut off, and the next row begins with a new one."""

    def __init__(self, tokenizer, seed, stream, kinds=KINDS):
        self.tokenizer = tokenizer
        self.documents = documents(seed, stream, kinds)

    def row(self, tokens):
        """tokens + 1 ids: inputs are the first `tokens` of them, targets the last."""
        ids = []
        while len(ids) <= tokens:
            ids += [1] + self.tokenizer.encode(next(self.documents)) + [2]
        return ids[: tokens + 1]

    def batch(self, rows, tokens):
        return torch.from_numpy(np.array([self.row(tokens) for _ in range(rows)], dtype=np.int64))


def loss_of(model, batch):
    with torch.autocast("cpu", torch.bfloat16):
        logits = model(batch[:, :-1])
    return F.cross_entropy(logits.float().flatten(0, 1), batch[:, 1:].flatten())


@torch.no_grad()
def validation_loss(model, batches):
    return sum(loss_of(model, batch).item() for batch in batches) / len(batches)


def stages_of(length):
    return [replace(stage, steps=round(stage.steps * length)) for stage in STAGES]


def batches(tokenizer, seed, stages):
    """Every batch of the run."""
    for stage in stages:
        packer = Packer(tokenizer, seed, stage.stream, stage.kinds)
        for step in range(stage.steps):
            row_tokens = Rng(seed, "rows of " + stage.stream, step).weighted(stage.row_tokens)
            yield packer.batch(stage.tokens // row_tokens, row_tokens)


def learning_rate(step, steps, minutes, args):
    if step < args.warmup:
        return args.learning_rate * (step + 1) / args.warmup
    progress = (step - args.warmup) / (steps - args.warmup)
    if args.max_minutes:
        progress = min(1.0, max(progress, minutes / args.max_minutes))
    return args.learning_rate * 0.5 * (1 + math.cos(math.pi * progress))


def save(model, folder, master=None):
    """config.json, generation_config.json and model.safetensors (bf16); `master` gets the same
    weights in f32."""
    folder.mkdir(parents=True, exist_ok=True)
    tensors = {
        name: tensor.detach().to(torch.bfloat16).contiguous()
        for name, tensor in model.state_dict().items()
    }
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    if master:
        save_file(
            {name: tensor.detach().clone() for name, tensor in model.state_dict().items()}, master
        )
    config = model.config.to_hugging_face("bfloat16")
    (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n")
    generation = {"bos_token_id": 1, "eos_token_id": 2, "do_sample": False}
    (folder / "generation_config.json").write_text(json.dumps(generation, indent=2) + "\n")


def parse_arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    here = pathlib.Path(__file__).parent
    parser.add_argument("--out", type=pathlib.Path, default=here)
    parser.add_argument("--tokenizer", type=pathlib.Path, default=here / "tokenizer.model")
    parser.add_argument(
        "--log", type=pathlib.Path, help="append one JSON line per report to this file"
    )
    parser.add_argument(
        "--master", type=pathlib.Path, help="also keep the f32 weights in this file"
    )
    parser.add_argument("--init", type=pathlib.Path, help="begin from these weights, not anew")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--length", type=float, default=1.0, help="times the steps of each stage")
    parser.add_argument("--learning-rate", type=float, default=1e-3)
    parser.add_argument("--warmup", type=int, default=100, help="steps")
    parser.add_argument("--weight-decay", type=float, default=0.1)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument(
        "--save-every", type=int, default=250, help="steps between checkpoints and validations"
    )
    parser.add_argument(
        "--max-minutes",
        type=float,
        default=0,
        help="end by then, on a faster schedule if need be; 0: never",
    )
    shape = LlamaConfig()
    parser.add_argument("--hidden", type=int, default=shape.hidden)
    parser.add_argument("--layers", type=int, default=shape.layers)
    parser.add_argument("--heads", type=int, default=shape.heads)
    parser.add_argument("--kv-heads", type=int, default=shape.kv_heads)
    parser.add_argument("--intermediate", type=int, default=shape.intermediate)
    return parser.parse_args()


def main():
    args = parse_arguments()
    torch.set_num_threads(args.threads)
    torch.manual_seed(args.seed)
    tokenizer = sentencepiece.SentencePieceProcessor(model_file=str(args.tokenizer))
    config = LlamaConfig(
        vocab=tokenizer.vocab_size(),
        hidden=args.hidden,
        layers=args.layers,
        heads=args.heads,
        kv_heads=args.kv_heads,
        head_dim=args.hidden // args.heads,
        intermediate=args.intermediate,
    )
    model = Llama(config)
    if args.init:
        weights = {name: tensor.float() for name, tensor in load_file(args.init).items()}
        model.load_state_dict(weights)
    stages = stages_of(args.length)
    steps = sum(stage.steps for stage in stages)
    tokens_planned = sum(stage.steps * stage.tokens for stage in stages)
    print(f"{model.parameters_count()} parameters, {tokens_planned} tokens", flush=True)

    decayed = [parameter for parameter in model.parameters() if parameter.dim() == 2]
    others = [parameter for parameter in model.parameters() if parameter.dim() != 2]
    optimizer = torch.optim.AdamW(
        [
            {"params": decayed, "weight_decay": args.weight_decay},
            {"params": others, "weight_decay": 0.0},
        ],
        betas=(0.9, 0.98),
        fused=True,
    )
    valid = Packer(tokenizer, args.seed, "valid")
    held_out = [valid.batch(8, 512) for _ in range(6)] + [valid.batch(4, 1024) for _ in range(2)]

    begin = time.monotonic()
    tokens = 0
    recent = []
    for step, batch in enumerate(batches(tokenizer, args.seed, stages)):
        minutes = (time.monotonic() - begin) / 60
        for group in optimizer.param_groups:
            group["lr"] = learning_rate(step, steps, minutes, args)
        loss = loss_of(model, batch)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        recent.append(loss.item())
        tokens += batch[:, 1:].numel()

        minutes = (time.monotonic() - begin) / 60
        is_last = step + 1 == steps or (args.max_minutes and minutes > args.max_minutes)
        if (step + 1) % 50 == 0 or is_last:
            report = {
                "step": step + 1,
                "tokens": tokens,
                "minutes": round(minutes, 2),
                "train_loss": round(sum(recent) / len(recent), 4),
            }
            recent = []
            if (step + 1) % args.save_every == 0 or is_last:
                report["valid_loss"] = round(validation_loss(model, held_out), 4)
                save(model, args.out, args.master)
            line = json.dumps(report)
            print(line, flush=True)
            if args.log:
                with open(args.log, "a") as log:
                    log.write(line + "\n")
        if is_last:
            break


if __name__ == "__main__":
    main()
