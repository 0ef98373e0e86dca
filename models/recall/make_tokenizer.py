"""Writes tokenizer.json and tokenizer_config.json of the three models: the words of world.py, one
token each, and the 256 bytes for everything else.

Ids: 0 <unk>, 1 <s>, 2 </s>, 3..258 bytes, then the words. A text is cut as GPT-2 cuts it (a word
takes the space before it along), and a piece that is a token is that token (`ignore_merges`, as
in Llama 3); there are no merges, so any other piece becomes its bytes.
"""

import argparse
import json
import pathlib
import re

from world import vocabulary

HERE = pathlib.Path(__file__).resolve().parent
FAMILIES = ("llama", "mpt", "falcon")
SPECIAL = ("<unk>", "<s>", "</s>")
BOS, EOS = 1, 2

_WORD = re.compile(r" ?\w+|[^\w\s]|\s")


def byte_letters():
    """GPT-2's letter for each byte: itself where it is visible, else one from 256 on."""
    visible = {*range(33, 127), *range(161, 173), *range(174, 256)}
    hidden = [byte for byte in range(256) if byte not in visible]
    return [
        chr(byte) if byte in visible else chr(256 + hidden.index(byte)) for byte in range(256)
    ]


class Vocabulary:
    """The ids of the texts that world.py writes (others have to go through tokenizer.json)."""

    def __init__(self):
        self.words = vocabulary()
        self.size = len(SPECIAL) + 256 + len(self.words)
        self.ids = {chr(byte): len(SPECIAL) + byte for byte in range(128)}
        self.first_word = len(SPECIAL) + 256
        self.ids.update((word, self.first_word + i) for i, word in enumerate(self.words))
        self.texts = {id: text for text, id in self.ids.items()}

    def encode(self, text):
        return [self.ids[word] for word in _WORD.findall(text)]

    def decode(self, ids):
        return "".join(self.texts.get(id, "<unk>") for id in ids)


def tokenizer_json():
    letters = byte_letters()
    names = [*SPECIAL, *letters]
    for word in vocabulary():
        names.append("".join(letters[byte] for byte in word.encode()))
    added = [
        {
            "id": id,
            "content": content,
            "single_word": False,
            "lstrip": False,
            "rstrip": False,
            "normalized": False,
            "special": True,
        }
        for id, content in enumerate(SPECIAL)
    ]
    byte_level = {"add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": added,
        "normalizer": None,
        "pre_tokenizer": {"type": "ByteLevel", **byte_level},
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [
                {"SpecialToken": {"id": "<s>", "type_id": 0}},
                {"Sequence": {"id": "A", "type_id": 0}},
            ],
            "pair": [
                {"SpecialToken": {"id": "<s>", "type_id": 0}},
                {"Sequence": {"id": "A", "type_id": 0}},
                {"Sequence": {"id": "B", "type_id": 1}},
            ],
            "special_tokens": {"<s>": {"id": "<s>", "ids": [BOS], "tokens": ["<s>"]}},
        },
        "decoder": {"type": "ByteLevel", **byte_level},
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None,
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": False,
            "byte_fallback": False,
            "ignore_merges": True,
            "vocab": {name: id for id, name in enumerate(names)},
            "merges": [],
        },
    }


def write(folder):
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps(tokenizer_json(), ensure_ascii=False, indent=1)
    (folder / "tokenizer.json").write_text(text + "\n", encoding="utf-8")
    config = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "bos_token": "<s>",
        "eos_token": "</s>",
        "unk_token": "<unk>",
        "clean_up_tokenization_spaces": False,
    }
    (folder / "tokenizer_config.json").write_text(json.dumps(config, indent=2) + "\n")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=pathlib.Path, default=HERE)
    args = parser.parse_args()
    for family in FAMILIES:
        write(args.out / family)


if __name__ == "__main__":
    main()
