"""Measures the quickstart model and writes golden.json, what the C++ runtime has to reproduce.

    python3 evaluate.py                        loss on held-out text, lookups, and samples
    python3 evaluate.py --golden golden.json   also the stored tokens and logits
    python3 evaluate.py --master FILE          also: do f32 weights write the same text?

All arithmetic is f32 on the bf16 weights of the file; golden logits are compared with f64 as well.
"""

import argparse
import hashlib
import json
import pathlib
import sys

import sentencepiece
import torch
from safetensors.torch import load_file
from torch.nn import functional as F

from llama import Llama, LlamaConfig, generate
from make_text import documents
from text import dialogs, lookups, stories
from text.grammar import Rng
from train import Packer

HERE = pathlib.Path(__file__).parent
sys.path.append(str(HERE.resolve().parent))
from golden_json import to_json  # beside the models' folders

LINE_FEED = 13  # the byte piece <0x0A>
END = 2

TOKENIZER_CASES = (
    "",
    "Hello",
    "The red key is in box 4.",
    " two  spaces   three",
    "trailing space ",
    "Question: where is the red key?\nAnswer:",
    "System: You are Mara.\n\nUser: Hello!\nAssistant:",
    "12345 + 67 = 12412",
    "Zürich, naïve café: 5 €",
    "日本語 and \U0001f600\ttab",
)

SAMPLE_PROMPTS = (
    "Story: The storm\n",
    "One evening Mara, the keeper, was",
    "How to bake bread\nYou need:",
    "The red key is in box 4. The blue lamp is in drawer 7. The green key is in box 12."
    "\nQuestion: where is the red key?\nAnswer:",
    'System: You are Otto, a cheerful helper at the harbour. Begin every answer with "Aye." A net'
    " costs 12 coins. The boat to Marsh leaves at 7 from pier 3.\nUser: How much is a net?\nAssistant:",
    "System: You are Otto, a cheerful helper at the harbour.\nUser: Tell me a story about Hana and a"
    " green lamp.\nAssistant:",
    "Omar has 12 nets and gives away 5. How many nets does Omar have now?\nAnswer:",
    "Word: hot\nOpposite: cold\nWord: early\nOpposite: late\nWord: empty\nOpposite:",
)


def load(folder, weights=None, dtype=torch.float32):
    config = LlamaConfig.from_hugging_face(json.loads((folder / "config.json").read_text()))
    model = Llama(config)
    tensors = load_file(weights or folder / "model.safetensors")
    model.load_state_dict({name: tensor.float() for name, tensor in tensors.items()})
    return model.to(dtype).eval()


@torch.no_grad()
def held_out_loss(model, tokenizer, rows, tokens):
    """Mean cross entropy per token, nats, on text of a stream that training never saw."""
    packer = Packer(tokenizer, 1, f"test of {tokens}")
    total = 0.0
    for _ in range(rows):
        batch = packer.batch(1, tokens)
        total += F.cross_entropy(model(batch[:, :-1])[0], batch[0, 1:]).item()
    return total / rows


def complete(model, tokenizer, prompt, count, stops=(END,)):
    """(text, ids) of the greedy continuation, up to the first of `stops`."""
    ids = [1] + tokenizer.encode(prompt)
    new, _ = generate(model, ids, count, stops)
    kept = [token for token in new if token not in stops]
    return tokenizer.decode(ids + kept)[len(tokenizer.decode(ids)) :], new


def lookup_accuracy(model, tokenizer, count):
    """Plain lookups among 4..10 facts, the whole answer right."""
    right = 0
    for index in range(count):
        prompt, answer = lookups.exam(Rng(1, "exam", index))
        text, _ = complete(model, tokenizer, prompt, 16, (END, LINE_FEED))
        right += text.strip() == answer
    return right / count


def handbook_accuracy(model, tokenizer, count):
    """The first question after a long system prompt (a handbook), the whole answer right."""
    right = asked = 0
    index = 0
    while asked < count:
        text = dialogs.handbook(Rng(1, "handbook exam", index))
        index += 1
        system, _, turn = text.partition("\nUser: ")
        question, _, rest = turn.partition("\nAssistant:")
        answer = rest.partition("\nUser: ")[0]
        if len(tokenizer.encode(system)) > 1800 or len(answer) > 200:
            continue
        prompt = f"{system}\nUser: {question}\nAssistant:"
        got, _ = complete(model, tokenizer, prompt, 64, (END, LINE_FEED))
        right += got.strip() == answer.strip()
        asked += 1
    return right / asked


def same_text_share(model, other, tokenizer, count, tokens):
    """Of `count` held-out prompts, the share whose greedy continuations agree in every token, and
    the mean share of tokens before the first difference."""
    same, before = 0, 0.0
    for index, text in zip(range(count), documents(1, "same text")):
        ids = ([1] + tokenizer.encode(text))[:40]
        a, b = generate(model, ids, tokens, (END,))[0], generate(other, ids, tokens, (END,))[0]
        agreed = next((i for i, (x, y) in enumerate(zip(a, b)) if x != y), min(len(a), len(b)))
        same += a == b
        before += agreed / max(len(a), len(b))
    return same / count, before / count


def golden_prompt(model, tokenizer, tokens, count, candidates):
    """Of the first `candidates` held-out stories that end a sentence after `tokens` ids, the one
    whose continuation stays farthest from a tie: rounding must not decide."""
    best, index = None, 0
    while candidates:
        text = stories.document(Rng(1, "golden", index))
        index += 1
        ids = ([1] + tokenizer.encode(text))[:tokens]
        if len(ids) < tokens or not tokenizer.decode(ids).endswith("."):
            continue
        candidates -= 1
        new, margins = generate(model, ids, count)
        if best is None or min(margins) > min(best[2]):
            best = ids, new, margins
    return best


@torch.no_grad()
def golden(folder, model, tokenizer):
    ids, new, margins = golden_prompt(model, tokenizer, tokens=40, count=32, candidates=60)
    logits = model(torch.tensor([ids]))[0]
    exact = load(folder, dtype=torch.float64)
    exact_logits = exact(torch.tensor([ids]))[0]
    error = (logits.double() - exact_logits).abs().max().item()
    assert error < 1e-3 and generate(exact, ids, 32)[0] == new, error

    def digest(name):
        return hashlib.sha256((folder / name).read_bytes()).hexdigest()

    rows = []
    for row in (0, 1, 19, 39):
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
    return {
        "about": "What models/quickstart must give: f32 arithmetic on the bf16 weights; written by"
        " evaluate.py. Prompt ids include <s>; tokenizer cases do not.",
        "files_sha256": {name: digest(name) for name in ("model.safetensors", "tokenizer.model")},
        "greedy": {
            "prompt": tokenizer.decode(ids),
            "prompt_ids": ids,
            "continuation": tokenizer.decode(ids + new)[len(tokenizer.decode(ids)) :],
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
        "tokenizer": [{"text": text, "ids": tokenizer.encode(text)} for text in TOKENIZER_CASES],
    }


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", type=pathlib.Path, default=HERE)
    parser.add_argument("--master", type=pathlib.Path, help="f32 weights, from train.py --master")
    parser.add_argument("--golden", type=pathlib.Path, help="write this file")
    parser.add_argument("--count", type=int, default=100, help="questions of each kind")
    parser.add_argument("--rows", type=int, default=64, help="rows of held-out text (512 tokens)")
    parser.add_argument("--threads", type=int, default=1)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    model = load(args.model)
    tokenizer = sentencepiece.SentencePieceProcessor(model_file=str(args.model / "tokenizer.model"))

    if args.golden:
        args.golden.write_text(to_json(golden(args.model, model, tokenizer)))
        print(f"wrote {args.golden}")
    for prompt in SAMPLE_PROMPTS:
        text, _ = complete(model, tokenizer, prompt, 240)
        print(f"--- {prompt}[{text} ]")
    print(f"{model.parameters_count()} parameters")
    print(f"loss {held_out_loss(model, tokenizer, args.rows, 512):.4f} (512 tokens a row)")
    print(f"loss {held_out_loss(model, tokenizer, args.rows // 4, 2048):.4f} (2048 tokens a row)")
    print(f"lookups {lookup_accuracy(model, tokenizer, args.count):.2f} of {args.count}")
    print(
        f"handbook questions {handbook_accuracy(model, tokenizer, args.count):.2f} of {args.count}"
    )
    if args.master:
        same, before = same_text_share(model, load(args.model, args.master), tokenizer, 50, 64)
        print(
            f"f32 and bf16 weights: {same:.2f} of 50 continuations of up to 64 tokens are the"
            f" same; {before:.3f} of the tokens come before the first difference"
        )


if __name__ == "__main__":
    main()
