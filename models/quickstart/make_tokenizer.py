"""Trains tokenizer.model on generated text: SentencePiece BPE with byte fallback, laid out as in
Llama 2.

Ids: 0 <unk>, 1 <s>, 2 </s>, 3..258 bytes, then pieces. Text is not normalized, a space is put
before the first word, digits stand alone, and a line feed is the byte <0x0A>.
"""

import argparse
import pathlib

import sentencepiece

from make_text import KINDS, documents
from text import examples

# Repetitions are words of the other kinds, and counting them again would only shift the pieces.
TOKENIZER_KINDS = tuple(kind for kind in KINDS if kind[0] is not examples.repetition)


def sentences(seed, characters):
    for text in documents(seed, "tokenizer", TOKENIZER_KINDS):
        for line in text.split("\n"):
            yield line
            characters -= len(line)
        if characters < 0:
            return


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--out", type=pathlib.Path, default=pathlib.Path(__file__).parent / "tokenizer.model"
    )
    parser.add_argument("--vocab", type=int, default=2048)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--characters", type=int, default=4_000_000)
    args = parser.parse_args()
    with open(args.out, "wb") as out:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=sentences(args.seed, args.characters),
            model_writer=out,
            model_type="bpe",
            vocab_size=args.vocab,
            byte_fallback=True,
            split_digits=True,
            normalization_rule_name="identity",
            remove_extra_whitespaces=False,
            add_dummy_prefix=True,
            allow_whitespace_only_pieces=True,
            unk_id=0,
            bos_id=1,
            eos_id=2,
            pad_id=-1,
            unk_surface=" \u2047 ",
            character_coverage=0.99995,
            num_threads=1,
            max_sentence_length=16384,
            shuffle_input_sentence=False,
            minloglevel=1,
        )


if __name__ == "__main__":
    main()
