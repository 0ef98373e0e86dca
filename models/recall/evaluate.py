"""Measures a recall model on items.jsonl and writes golden.json, what the C++ runtime has to give.

    python3 evaluate.py --model llama                          scores
    python3 evaluate.py --model llama --golden llama/golden.json

Scores under three ways of reading an item:
  full      every token sees all before it, as in training
  isolated  a passage sees itself alone, at its own positions; the question sees everything
  dropped   the question alone, without passages: what guessing gives

All arithmetic is f32 on the bf16 weights of the file; golden logits are compared with f64 as well.
"""

import argparse
import hashlib
import json
import pathlib
import sys
from collections import Counter

import tokenizers
import torch
from safetensors.torch import load_file

from decoder import Decoder, causal_places, from_hugging_face, generate, places
from make_tokenizer import BOS, HERE, Vocabulary
from rows import LEVELS, make_batch, training_row

sys.path.append(str(HERE.resolve().parent))
from golden_json import to_json  # beside the models' folders

MODES = ("full", "isolated", "dropped")

TOKENIZER_CASES = (
    "",
    "Hello",
    "Passage 3: Ann lives in Alden.\nPassage 12: He has a lamp.\n",
    "Question: where does the boss of Clara live?\nAnswer:",
    "Choices: A bell, B spoon, C scarf, D whistle",
    " two  spaces   three",
    "trailing space ",
    "Zürich, naïve café: 5 €",
    "日本語 and \U0001f600\ttab",
)


def load(folder, dtype=torch.float32):
    model = Decoder(from_hugging_face(json.loads((folder / "config.json").read_text())))
    tensors = load_file(folder / "model.safetensors")
    model.load_state_dict({name: tensor.to(torch.float32) for name, tensor in tensors.items()})
    return model.to(dtype).eval()


def read_items(path):
    with open(path, encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def parts_of(item):
    """The texts of an item in order; the last one is the question."""
    preamble = [item["preamble"]] if item["preamble"] else []
    return [*preamble, *item["documents"], item["question"]]


def check_tokenizer(folder, items):
    """The file cuts every item as this code does, in parts as well as in one piece."""
    vocabulary = Vocabulary()
    tokenizer = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    for item in items:
        whole = "".join(parts_of(item)) + " " + item["answers"][0] + "\n"
        ids = tokenizer.encode(whole).ids
        assert ids == [BOS] + vocabulary.encode(whole), item["id"]
        parts = [*parts_of(item), " " + item["answers"][0] + "\n"]
        in_parts = [tokenizer.encode(part, add_special_tokens=False).ids for part in parts]
        assert ids == [BOS] + sum(in_parts, []), item["id"]
        assert tokenizer.decode(ids) == whole, item["id"]


@torch.no_grad()
def check_rows(model, vocabulary, count):
    """Questions that share a row get the logits that they get alone behind the passages."""
    worst = 0.0
    for index in range(count):
        row = training_row(vocabulary, 1, index, LEVELS[2])
        batch = make_batch([row])
        at = batch.places(model.config)
        together = torch.nn.functional.linear(
            model.hidden_states(batch.ids, at)[0], model.embedding
        )[0]
        for number in range(1, max(row.block) + 1):
            chosen = [i for i, block in enumerate(row.block) if block in (0, number)]
            alone = model(torch.tensor([[row.ids[i] for i in chosen]]))[0]
            worst = max(worst, (alone[-1] - together[chosen[-1]]).abs().max().item())
    assert worst < 1e-3, worst
    return worst


def sees(blocks, mode):
    """[tokens, tokens]; blocks: 0 for <s>, then one number for each part; the last is the
    question."""
    tokens = len(blocks)
    causal = torch.ones(tokens, tokens, dtype=torch.bool).tril()
    if mode == "full":
        return causal
    number = torch.tensor(blocks)
    is_question = number == number.max()
    return causal & ((number[:, None] == number[None, :]) | is_question[:, None])


@torch.no_grad()
def answer(model, vocabulary, item, mode):
    """(greedy answer is right, its first token, most likely choice or None). The greedy text
    equals the answer if and only if every token of the answer and the line feed after it is the
    likeliest one behind the right ones before it."""
    parts = parts_of(item)
    if mode == "dropped":
        parts = parts[-1:]
    ids, blocks = [BOS], [0]
    for number, part in enumerate(parts, start=1):
        new = vocabulary.encode(part)
        ids, blocks = ids + new, blocks + [number] * len(new)
    want = vocabulary.encode(" " + item["answers"][0] + "\n")
    first = len(ids) - 1
    ids, blocks = ids + want[:-1], blocks + [len(parts)] * (len(want) - 1)
    positions = torch.arange(len(ids))[None]
    at = places(model.config, positions, sees(blocks, mode)[None])
    logits = model(torch.tensor([ids]), at)[0, first:]
    got = logits.argmax(-1).tolist()
    choice = None
    if item["choices"]:
        tokens = [vocabulary.ids[" " + one] for one in item["choices"]]
        choice = item["choices"][logits[0, tokens].argmax().item()]
    return got == want, got[0], choice


def scores(model, vocabulary, items, modes=MODES):
    """Prints one line per part of the items: right answers in each mode, and how often the answer
    is the one of full attention."""
    asked, right, same, likely = Counter(), Counter(), Counter(), Counter()
    for item in items:
        part = item["id"].rpartition("-")[0]
        asked[part] += 1
        of_full = None
        for mode in modes:
            is_right, token, choice = answer(model, vocabulary, item, mode)
            right[part, mode] += is_right
            of_full = token if mode == "full" else of_full
            same[part, mode] += token == of_full
            likely[part, mode] += choice is not None and choice == item["answers"][0]
    table = []
    for part in asked:
        line = {"part": part, "items": asked[part]}
        for mode in modes:
            line[mode] = right[part, mode]
            if mode != "full":
                line[f"{mode}_same_as_full"] = same[part, mode]
            if part == "choice":
                line[f"{mode}_by_likelihood"] = likely[part, mode]
        table.append(line)
        print(json.dumps(line), flush=True)
    return table


def golden_prompt(model, vocabulary, items, count):
    """Of these items the one whose continuation stays farthest from a tie: rounding must not
    decide."""
    best = None
    for item in items:
        ids = [BOS] + vocabulary.encode("".join(parts_of(item)))
        new, margins = generate(model, ids, count)
        if best is None or min(margins) > min(best[2]):
            best = ids, new, margins
    return best


@torch.no_grad()
def golden(folder, model, vocabulary, items):
    short = sorted(items, key=lambda item: len("".join(parts_of(item))))[:24]
    ids, new, margins = golden_prompt(model, vocabulary, short, count=8)
    logits = model(torch.tensor([ids]))[0]
    torch.set_default_dtype(torch.float64)
    exact = load(folder, dtype=torch.float64)
    at = causal_places(exact.config, 1, len(ids))
    exact_logits = exact(torch.tensor([ids]), at)[0]
    is_same = generate(exact, ids, len(new))[0] == new
    torch.set_default_dtype(torch.float32)
    error = (logits.double() - exact_logits).abs().max().item()
    assert error < 1e-3 and is_same, error

    rows = []
    for row in (0, 1, len(ids) // 2, len(ids) - 1):
        high, low = logits[row].max(0), logits[row].min(0)
        rows.append(
            {
                "row": row,
                "max": round(high.values.item(), 5),
                "argmax": high.indices.item(),
                "min": round(low.values.item(), 5),
                "argmin": low.indices.item(),
            }
        )
    tokenizer = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    names = ("model.safetensors", "tokenizer.json")
    return {
        "about": f"What models/recall/{folder.name} must give: f32 arithmetic on the bf16 weights;"
        " written by evaluate.py. Prompt ids include <s>; tokenizer cases do not.",
        "files_sha256": {
            name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in names
        },
        "greedy": {
            "prompt": vocabulary.decode(ids[1:]),
            "prompt_ids": ids,
            "continuation": vocabulary.decode(new),
            "continuation_ids": new,
            "smallest_margin": round(min(margins), 5),
            "margins": [round(margin, 4) for margin in margins],
        },
        "logits": {
            "of": "prompt_ids; row r predicts token r + 1",
            "max_error_against_f64": float(f"{error:.2e}"),
            "rows": rows,
            "last_row": [round(value, 5) for value in logits[-1].tolist()],
        },
        "tokenizer": [
            {"text": text, "ids": tokenizer.encode(text, add_special_tokens=False).ids}
            for text in TOKENIZER_CASES
        ],
    }


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", type=pathlib.Path, required=True, help="a folder")
    parser.add_argument("--items", type=pathlib.Path, default=HERE / "items.jsonl")
    parser.add_argument("--golden", type=pathlib.Path, help="write this file")
    parser.add_argument("--scores", type=pathlib.Path, help="write the table to this file")
    parser.add_argument("--threads", type=int, default=1)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    folder = args.model.resolve()
    vocabulary, items = Vocabulary(), read_items(args.items)
    check_tokenizer(folder, items)
    model = load(folder)
    print(f"{model.parameters_count()} parameters")
    print(f"questions of one row against each alone: {check_rows(model, vocabulary, 4):.1e}")
    if args.golden:
        args.golden.write_text(to_json(golden(folder, model, vocabulary, items)))
    table = scores(model, vocabulary, items)
    if args.scores:
        args.scores.write_text("".join(json.dumps(line) + "\n" for line in table))


if __name__ == "__main__":
    main()
