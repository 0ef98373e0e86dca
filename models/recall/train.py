"""Trains one recall model on generated contexts and writes it as a Hugging Face folder.

    python3 make_tokenizer.py
    python3 train.py --family llama --fall-at 1000 --fall-steps 200

AdamW with a short warm-up, then a constant rate that falls to zero at the end. No context is seen
twice. Contexts begin small and grow as the answers become right (LEVELS of rows.py). The loss
counts
  - the answers and the line feed after them;
  - what a step on the way to an answer has to know, read by auxiliary heads from inside the model
    and dropped afterwards: after two blocks, whom a value is said of, in which passage or under
    which letter it stands, and whom a question names; after three, the person in the middle of a
    two-hop question; after four, the value that is asked for;
  - that the token before an answer looks, in block three, at the link of a two-hop question, in
    block four at the value that is asked for, in block five at the right one of the choices;
  - one in eight of all other tokens, lightly, so that the model can write its language.
Attention is full and causal everywhere; no passage is ever hidden from another one.

All arithmetic is f32 (on a CPU, autocast to bf16 was slower at this size: 4,600 against 5,600
tokens per second), what is written is bf16. The text and the initial weights depend on the seed
alone, the rest also on the processor, the version of PyTorch and, without --fall-at, the clock
(--max-minutes). --checkpoint keeps everything needed to go on after an interruption.
"""

import argparse
import json
import pathlib
import time

import torch
from safetensors.torch import save_file
from torch import nn
from torch.nn import functional as F

from decoder import NAMES, Decoder, default_config, to_hugging_face
from make_tokenizer import BOS, EOS, HERE, Vocabulary
from rows import LEVELS, NONE, PAD, TASKS, make_batch, training_rows
from world import LETTERS, NAMES as PEOPLE, NUMBERS

# The labels that an auxiliary head tells apart, where its input is taken (number of blocks) and
# what its cross entropy counts.
PROBES = {
    "subject": (2, 0.5),
    "place": (2, 0.3),
    "bridge": (3, 0.5),
    "value": (4, 0.5),
}
# Labels of Row that say where a block should look before an answer, and the block.
LOOKS = {"link_at": 3, "fact_at": 4, "option_at": 5}
LOOK_WEIGHT, LOOK_HEADS = 0.3, 2
TEXT_WEIGHT, TEXT_SHARE = 0.1, 8
# With this share of every task right at the last level the rate begins to fall ahead of time.
READY = 0.9


class Probes(nn.Module):
    """The auxiliary heads: a matrix each, then the embeddings of the tokens it chooses among."""

    def __init__(self, hidden, classes):
        super().__init__()
        self.turns = nn.ModuleDict({name: nn.Linear(hidden, hidden, bias=False) for name in PROBES})
        for turn in self.turns.values():
            nn.init.eye_(turn.weight)
        for name, ids in classes.items():
            self.register_buffer("classes_" + name, torch.tensor(ids), persistent=False)

    def loss(self, name, x, labels, embedding):
        """x [rows, tokens, hidden]; labels [rows, tokens], token ids or NONE"""
        chosen = labels != NONE
        if not chosen.any():
            return x.new_zeros(())
        ids = getattr(self, "classes_" + name)
        index = torch.zeros(embedding.shape[0], dtype=torch.long)
        index[ids] = torch.arange(len(ids))
        y = self.turns[name](F.rms_norm(x[chosen], x.shape[-1:]))
        return F.cross_entropy(F.linear(y, embedding[ids]), index[labels[chosen]])


def probe_classes(vocabulary):
    def ids(words):
        return sorted(vocabulary.ids[" " + word] for word in words)

    return {
        "subject": ids(PEOPLE),
        "place": ids((*NUMBERS, *LETTERS)),
        "bridge": ids(PEOPLE),
        "value": list(range(vocabulary.first_word, vocabulary.size)),
    }


def text_targets(batch, generator):
    """The next token, at one in TEXT_SHARE of the places that lie inside a block."""
    target = torch.full_like(batch.ids, NONE)
    inside = (batch.block[:, 1:] == batch.block[:, :-1]) & (batch.block[:, 1:] != PAD)
    drawn = torch.rand(inside.shape, generator=generator) < 1 / TEXT_SHARE
    target[:, :-1] = torch.where(inside & drawn, batch.ids[:, 1:], NONE)
    return target


def look_loss(scores, labels):
    """-log of the attention that the last LOOK_HEADS heads (with ALiBi, those that see farthest)
    pay to the place which `labels` [rows, tokens] names; scores [rows, heads, tokens, tokens]"""
    row, token = torch.nonzero(labels != NONE, as_tuple=True)
    if len(row) == 0:
        return scores.new_zeros(())
    of_token = scores[:, -LOOK_HEADS:].transpose(1, 2)[row, token]  # [places, heads, tokens]
    wanted = labels[row, token][:, None].expand(-1, LOOK_HEADS)
    return F.cross_entropy(of_token.flatten(0, 1), wanted.flatten())


def losses_of(model, probes, batch, generator):
    """(loss, per task right and asked, both [tasks])"""
    labels = batch.labels
    taps = {*(tap for tap, _ in PROBES.values()), *LOOKS.values()}
    x, streams, scores = model.hidden_states(batch.ids, batch.places(model.config), taps)

    def logits(chosen):
        return F.linear(x[chosen], model.embedding)

    answered = labels["target"] != NONE
    answers = logits(answered)
    loss = F.cross_entropy(answers, labels["target"][answered])
    text = text_targets(batch, generator)
    loss = loss + TEXT_WEIGHT * F.cross_entropy(logits(text != NONE), text[text != NONE])
    for name, (tap, weight) in PROBES.items():
        loss = loss + weight * probes.loss(name, streams[tap], labels[name], model.embedding)
    for name, block in LOOKS.items():
        loss = loss + LOOK_WEIGHT * look_loss(scores[block], labels[name])
    is_right = answers.argmax(-1) == labels["target"][answered]
    task = labels["task"][answered]
    asked = torch.bincount(task[task != NONE], minlength=len(TASKS))
    right = torch.bincount(task[(task != NONE) & is_right], minlength=len(TASKS))
    return loss, right, asked


def save(model, folder):
    """config.json, generation_config.json and model.safetensors (bf16)"""
    folder.mkdir(parents=True, exist_ok=True)
    tensors = {
        name: tensor.detach().to(torch.bfloat16).contiguous()
        for name, tensor in model.state_dict().items()
    }
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    config = to_hugging_face(model.config, "bfloat16")
    (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n")
    generation = {"bos_token_id": BOS, "eos_token_id": EOS, "do_sample": False}
    (folder / "generation_config.json").write_text(json.dumps(generation, indent=2) + "\n")


class Run:
    """A training run that can be interrupted: all its state besides the weights is `progress`."""

    def __init__(self, args):
        torch.manual_seed(args.seed)
        self.args = args
        self.vocabulary = Vocabulary()
        self.model = Decoder(default_config(args.family, self.vocabulary.size))
        self.probes = Probes(self.model.config.hidden, probe_classes(self.vocabulary))
        parameters = [*self.model.parameters(), *self.probes.parameters()]
        self.optimizer = torch.optim.AdamW(
            [
                {"params": [p for p in parameters if p.dim() == 2]},
                {"params": [p for p in parameters if p.dim() != 2], "weight_decay": 0.0},
            ],
            betas=(0.9, 0.98),
            weight_decay=args.weight_decay,
            fused=True,
        )
        self.generator = torch.Generator().manual_seed(args.seed)
        self.progress = {
            "step": 0,
            "tokens": 0,
            "minutes": 0.0,
            "level": 0,
            "index": 0,  # of the level's next context
            "fall_begins": None,  # minutes, or steps with --fall-at
        }
        if args.checkpoint and args.checkpoint.exists():
            self.restore()

    def restore(self):
        state = torch.load(self.args.checkpoint, weights_only=True)
        self.model.load_state_dict(state["model"])
        self.probes.load_state_dict(state["probes"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.generator.set_state(state["generator"])
        self.progress = state["progress"]
        print(f"going on from {self.progress}", flush=True)

    def keep(self):
        if not self.args.checkpoint:
            return
        self.args.checkpoint.parent.mkdir(parents=True, exist_ok=True)
        part = self.args.checkpoint.with_suffix(".part")
        state = {
            "model": self.model.state_dict(),
            "probes": self.probes.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "generator": self.generator.get_state(),
            "progress": self.progress,
        }
        torch.save(state, part)
        part.replace(self.args.checkpoint)

    def learning_rate(self):
        args, begins = self.args, self.progress["fall_begins"]
        rate = args.learning_rate * min(1.0, (self.progress["step"] + 1) / args.warmup)
        if begins is None:
            return rate
        return rate * max(0.0, 1 - (self.now() - begins) / self.fall_length())

    def now(self):
        return self.progress["step" if self.args.fall_at else "minutes"]

    def fall_length(self):
        args = self.args
        return args.fall_steps if args.fall_at else args.max_minutes * args.fall_share

    def is_done(self):
        begins = self.progress["fall_begins"]
        return begins is not None and self.now() >= begins + self.fall_length()

    def step(self):
        level = LEVELS[self.progress["level"]]
        rows = training_rows(self.vocabulary, self.args.seed, self.progress["index"], level)
        batch = make_batch(rows)
        for group in self.optimizer.param_groups:
            group["lr"] = self.learning_rate()
        loss, right, asked = losses_of(self.model, self.probes, batch, self.generator)
        self.optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        self.progress["index"] += len(rows)
        self.progress["step"] += 1
        self.progress["tokens"] += int((batch.block != PAD).sum())
        return loss.item(), right, asked

    def advance(self, shares):
        """Larger contexts, or the beginning of the end, if the last report allows it."""
        progress = self.progress
        is_last = progress["level"] + 1 == len(LEVELS)
        mean = sum(shares.values()) / len(shares)
        if not is_last and mean >= LEVELS[progress["level"]].enough:
            progress["level"] += 1
            progress["index"] = 0
        elif progress["fall_begins"] is None:
            is_ready = is_last and min(shares.values()) >= READY
            latest = self.args.fall_at or self.args.max_minutes - self.fall_length()
            if self.now() >= latest or (is_ready and not self.args.fall_at):
                progress["fall_begins"] = self.now()

    def train(self):
        args, progress = self.args, self.progress
        before = time.monotonic() - 60 * progress["minutes"]
        losses, right, asked = [], 0, 0
        while not self.is_done():
            loss, step_right, step_asked = self.step()
            losses.append(loss)
            right, asked = right + step_right, asked + step_asked
            progress["minutes"] = (time.monotonic() - before) / 60
            if progress["step"] % args.report_every and not self.is_done():
                continue
            shares = {
                task: round(int(right[i]) / int(asked[i]), 3)
                for i, task in enumerate(TASKS)
                if int(asked[i]) > 0
            }
            self.report(sum(losses) / len(losses), shares)
            self.advance(shares)
            losses, right, asked = [], 0, 0
            if progress["step"] % args.save_every == 0 or self.is_done():
                self.keep()
        save(self.model, args.out)
        self.keep()

    def report(self, loss, shares):
        progress = self.progress
        line = json.dumps(
            {
                "step": progress["step"],
                "tokens": progress["tokens"],
                "minutes": round(progress["minutes"], 2),
                "level": progress["level"],
                "loss": round(loss, 4),
                "right": shares,
            }
        )
        print(line, flush=True)
        if self.args.log:
            with open(self.args.log, "a") as log:
                log.write(line + "\n")


def parse_arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--family", choices=sorted(NAMES), required=True)
    parser.add_argument("--out", type=pathlib.Path, help="default: the folder of the family here")
    parser.add_argument(
        "--log", type=pathlib.Path, help="append one JSON line per report to this file"
    )
    parser.add_argument(
        "--checkpoint", type=pathlib.Path, help="keep the run's state here, and go on from it"
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--max-minutes", type=float, default=25)
    parser.add_argument(
        "--fall-share", type=float, default=0.25, help="share of them in which the rate falls"
    )
    parser.add_argument(
        "--fall-at", type=int, default=0, help="let it fall from this step on, without the clock"
    )
    parser.add_argument("--fall-steps", type=int, default=200, help="... and for so many steps")
    parser.add_argument("--learning-rate", type=float, default=2e-3)
    parser.add_argument("--warmup", type=int, default=100, help="steps")
    parser.add_argument("--weight-decay", type=float, default=0.05)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--report-every", type=int, default=25, help="steps")
    parser.add_argument("--save-every", type=int, default=250, help="steps")
    args = parser.parse_args()
    args.out = args.out or HERE / args.family
    return args


def main():
    args = parse_arguments()
    torch.set_num_threads(args.threads)
    run = Run(args)
    print(f"{run.model.parameters_count()} parameters", flush=True)
    run.train()


if __name__ == "__main__":
    main()
