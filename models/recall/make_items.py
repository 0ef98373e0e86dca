"""Writes items.jsonl, the questions that the recall models are judged by.

    python3 make_items.py --out items.jsonl

One question for each context, contexts of the largest shape of the curriculum and of 100 to 400
tokens; the pair of person and value that is asked for is one of those never stated in training
(world.is_held_out), and the contexts come from streams that training does not read.
"""

import argparse
import json
import pathlib

from rows import LEVELS
from make_tokenizer import HERE
from world import Rng, is_held_out, make_context, questions_of

# Of two-hop questions, in half both passages name the person in the middle (and in half of these
# the linking passage comes last), in half the second one says "he" or "she".
PARTS = (
    ("single_hop", 1.0),
    ("two_hop-name", 0.5),
    ("two_hop-reference", 0.5),
    ("passage_retrieval", 1.0),
    ("choice", 1.0),
)
FEWEST_TOKENS, MOST_TOKENS = 100, 400


def link_comes_last(context, question):
    """Whether the passage that says who somebody's boss is stands behind what is said of him."""
    return any(
        fact.value == question.bridge
        and fact.who == question.subject
        and fact.document > question.fact.document
        for fact in context.facts
    )


def is_wanted(context, question, number):
    if not is_held_out(question.fact.who, question.fact.value):
        return False
    if question.task != "two_hop-name":
        return True
    return link_comes_last(context, question) == (number % 2 == 1)


def item_of(part, number, context, question):
    return {
        "id": f"{part}-{number:04d}",
        "task": part.partition("-")[0],
        "preamble": "",
        "documents": context.text(),
        "question": question.text(),
        "answers": [question.answer],
        "choices": list(question.choices) or None,
    }


def items_of(seed, part, count):
    index = number = 0
    while number < count:
        rng = Rng(seed, "items of " + part, index)
        index += 1
        context = make_context(rng, LEVELS[-1].shape, is_training=False)
        tokens = sum(len(document) for document in context.documents)
        if not FEWEST_TOKENS <= tokens <= MOST_TOKENS:
            continue
        for make in questions_of(rng, context)[part]:
            question = make()
            if is_wanted(context, question, number):
                yield item_of(part, number, context, question)
                number += 1
                break


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=pathlib.Path, default=HERE / "items.jsonl")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=200, help="items of each task")
    args = parser.parse_args()
    with open(args.out, "w", encoding="utf-8") as file:
        for part, share in PARTS:
            for item in items_of(args.seed, part, round(args.count * share)):
                file.write(json.dumps(item) + "\n")


if __name__ == "__main__":
    main()
