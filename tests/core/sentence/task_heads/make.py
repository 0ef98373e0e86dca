"""Makes the classifiers of this folder, and their logits in float64, with transformers (5.24 here):

    python3 make.py FOLDER
"""

import json
import pathlib
import sys

import torch
import transformers

SIZES = {"vocab_size": 20, "hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 8,
         "max_position_embeddings": 24, "num_labels": 2, "initializer_range": 0.5}
RELATIVE = {"type_vocab_size": 0, "relative_attention": True, "pos_att_type": ["p2c", "c2p"],
            "max_relative_positions": -1, "position_biased_input": False, "pooler_hidden_size": 8}
V2 = {"position_buckets": 8, "norm_rel_ebd": "layer_norm", "share_att_key": True}
MODELS = {"bert": ("Bert", {}), "roberta": ("Roberta", {"type_vocab_size": 1}), "deberta-v1": ("Deberta", RELATIVE),
          "deberta-v3": ("DebertaV2", {**RELATIVE, **V2})}
LENGTHS = (1, 4, 9, 17)
WITH_PADDING = [5, 6, 1, 7, 1, 1, 8]  # RoBERTa's positions leave out its padding token, 1


def make(folder, name, settings):
    config = getattr(transformers, f"{name}Config")(**SIZES, **settings)
    model = getattr(transformers, f"{name}ForSequenceClassification")(config).eval()
    for parameter in model.parameters():
        if parameter.dim() == 1:  # norms and biases, which begin as ones and zeros
            parameter.data.add_(0.2 * torch.randn_like(parameter))
    model.save_pretrained(folder)
    model = model.double()
    texts = []
    all_ids = [[2 + (5 * i + 3 * length) % 18 for i in range(length)] for length in LENGTHS]
    if name == "Roberta":
        all_ids.append(WITH_PADDING)
    for ids in all_ids:
        with torch.no_grad():
            texts.append({"ids": ids, "logits": model(torch.tensor([ids])).logits[0].tolist()})
    (folder / "logits.json").write_text(json.dumps(texts))


if __name__ == "__main__":
    torch.manual_seed(7)
    for name, (prefix, settings) in MODELS.items():
        make(pathlib.Path(sys.argv[1]) / name, prefix, settings)
