"""Makes the text of the quickstart model: one document after another, each from (seed, stream,
index) alone.

    python3 make_text.py --seed 1 --characters 50000 > sample.txt

Nothing is read: every sentence comes from the grammar in text/. Streams with different names share
no document, so "valid" is held out from "train".
"""

import argparse
import sys

from text import dialogs, examples, lookups, manuals, stories
from text.grammar import Rng

# Shares of documents, not of tokens: a handbook is about ten times as long as a list of sums.
KINDS = (
    (stories.document, 26),
    (lookups.document, 34),
    (dialogs.document, 24),
    (dialogs.handbook, 7),
    (manuals.document, 4),
    (examples.document, 5),
    (examples.repetition, 1),
)

# What training begins with: short texts in which most answers stand a few words further up.
FIRST_KINDS = (
    (lookups.short_document, 45),
    (examples.repetition, 35),
    (examples.document, 5),
    (dialogs.document, 10),
    (stories.document, 5),
)


def document(seed, stream, index, kinds=KINDS):
    rng = Rng(seed, stream, index)
    return rng.weighted(kinds)(rng)


def documents(seed, stream, kinds=KINDS):
    """Endless."""
    index = 0
    while True:
        yield document(seed, stream, index, kinds)
        index += 1


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--stream", default="train", help='"train", "valid", or any other name')
    parser.add_argument(
        "--characters",
        type=int,
        default=50000,
        help="stop before the document that would exceed this",
    )
    args = parser.parse_args()
    written = 0
    for text in documents(args.seed, args.stream):
        written += len(text) + 2
        if written > args.characters:
            break
        sys.stdout.write(text + "\n\n")


if __name__ == "__main__":
    main()
