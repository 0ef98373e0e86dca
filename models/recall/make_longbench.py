"""Writes longbench/, some of items.jsonl in LongBench's format, with a configuration of its own.

    python3 make_longbench.py --out longbench

LongBench itself is large and other people's. This is a folder of the same form that the recall
models can answer: single-hop questions as 2wikimqa and two-hop questions as musique, both scored by
the F1 of words. A LongBench context counts its passages from 1 without gaps, so they are numbered
anew; the rest of the texts is that of the items.
"""

import argparse
import json
import pathlib
import re

HERE = pathlib.Path(__file__).resolve().parent
# Of which items a dataset is made, and of each kind as many.
DATASETS = {
    "2wikimqa": ("single_hop",),
    "musique": ("two_hop-name", "two_hop-reference"),
}
TEMPLATE = "{context}Question: {input}\nAnswer:"
QUESTION = re.compile(r"Question: (.+)\nAnswer:")
# The models say a word and end the line; what would follow is not of the answer.
MOST_ANSWER_TOKENS = 2


def renumbered(documents):
    return "".join(
        re.sub(r"^Passage \d+:", f"Passage {number}:", document)
        for number, document in enumerate(documents, start=1)
    )


def sample_of(item, dataset):
    context = renumbered(item["documents"])
    return {
        "input": QUESTION.fullmatch(item["question"]).group(1),
        "context": context,
        "answers": item["answers"],
        "length": len(context.split()),
        "dataset": dataset,
        "language": "en",
        "all_classes": None,
        "_id": item["id"],
    }


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--items", type=pathlib.Path, default=HERE / "items.jsonl")
    parser.add_argument("--out", type=pathlib.Path, default=HERE / "longbench")
    parser.add_argument("--count", type=int, default=10, help="items of each kind")
    args = parser.parse_args()
    items = [json.loads(line) for line in args.items.read_text(encoding="utf-8").splitlines()]
    args.out.mkdir(exist_ok=True)
    for dataset, kinds in DATASETS.items():
        with open(args.out / f"{dataset}.jsonl", "w", encoding="utf-8") as file:
            for number in range(args.count):
                for kind in kinds:
                    item = next(i for i in items if i["id"] == f"{kind}-{number:04d}")
                    file.write(json.dumps(sample_of(item, dataset)) + "\n")
    for name, value in (("prompt", TEMPLATE), ("maxlen", MOST_ANSWER_TOKENS)):
        text = json.dumps(dict.fromkeys(DATASETS, value), indent=1) + "\n"
        (args.out / f"dataset2{name}.json").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
