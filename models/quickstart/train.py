"""Trains the quickstart model on generated text and writes it as a Hugging Face folder.

    python3 make_tokenizer.py
    python3 train.py --out .

AdamW, a short linear warm-up, then a cosine to zero. Every batch is new text (nothing is seen
twice), packed so that each row begins with a document; rows are 512, 1024 or 2048 tokens long at
the same number of tokens per step. The weights are f32 while training, products are bf16
(autocast), and what is written is bf16. The text and the initial weights depend on the seed alone;
bits of the result also depend on the processor and the version of PyTorch.
"""

import argparse
import json
import math
import pathlib
import time

import numpy as np
import sentencepiece
import torch
from safetensors.torch import save_file
from torch.nn import functional as F

from llama import Llama, LlamaConfig
from make_text import documents
from text.grammar import Rng

ROW_TOKENS = ((512, 6), (1024, 3), (2048, 1))  # (length of a row, weight)


class Packer:
    """Cuts a stream of documents into rows. A document is <s> ... </s>; the last one of a row is
    cut off, and the next row begins with a new one."""

    def __init__(self, tokenizer, seed, stream):
        self.tokenizer = tokenizer
        self.documents = documents(seed, stream)

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


def learning_rate(step, args):
    if step < args.warmup:
        return args.learning_rate * (step + 1) / args.warmup
    progress = (step - args.warmup) / max(1, args.steps - args.warmup)
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
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--steps", type=int, default=3300)
    parser.add_argument("--tokens-per-step", type=int, default=2048, help="a multiple of 2048")
    parser.add_argument("--learning-rate", type=float, default=2.5e-3)
    parser.add_argument("--warmup", type=int, default=200, help="steps")
    parser.add_argument("--weight-decay", type=float, default=0.1)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument(
        "--save-every", type=int, default=250, help="steps between checkpoints and validations"
    )
    parser.add_argument(
        "--max-minutes", type=float, default=0, help="stop early after this long; 0: never"
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
    print(
        f"{model.parameters_count()} parameters, {args.steps * args.tokens_per_step} tokens",
        flush=True,
    )

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
    train = Packer(tokenizer, args.seed, "train")
    valid = Packer(tokenizer, args.seed, "valid")
    held_out = [valid.batch(8, 512) for _ in range(6)] + [valid.batch(4, 1024) for _ in range(2)]

    begin = time.monotonic()
    recent = []
    for step in range(args.steps):
        row_tokens = Rng(args.seed, "row tokens", step).weighted(ROW_TOKENS)
        for group in optimizer.param_groups:
            group["lr"] = learning_rate(step, args)
        loss = loss_of(model, train.batch(args.tokens_per_step // row_tokens, row_tokens))
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        recent.append(loss.item())

        minutes = (time.monotonic() - begin) / 60
        is_last = step + 1 == args.steps or (args.max_minutes and minutes > args.max_minutes)
        if (step + 1) % 50 == 0 or is_last:
            report = {
                "step": step + 1,
                "tokens": (step + 1) * args.tokens_per_step,
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
