// The head of a fine-tuned encoder, which computes one score per label for each text.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/model/config/config.h"

namespace reprise::model {

// logits = W2 f(W1 h + b1) + b2, where h is the last state of a text's first token. f is tanh for
// BERT and RoBERTa, and pooler_hidden_act for DeBERTa, as in the sequence classifiers of
// transformers.
struct TaskHead {
  int64_t hidden = 0, labels = 0;
  bool is_gelu = false;              // f: GELU with erf; else tanh
  std::vector<float> dense, bias;    // W1 [hidden, hidden], b1 [hidden]
  std::vector<float> out, out_bias;  // W2 [labels, hidden], b2 [labels]
  // [labels] names of the labels, from id2label in config.json; empty if it has no such key
  std::vector<std::string> label_names;
};

// Reads the head in a checkpoint's folder. Returns nullopt if the model is no encoder, has no such
// head, or is no sequence classifier by `architectures` in config.json. Throws Error naming the
// tensor if the head is incomplete or its size does not fit the model, and for a label without a
// name in id2label. Also throws as CheckpointFiles does.
std::optional<TaskHead> read_task_head(const std::filesystem::path& folder,
                                       const ModelConfig& config);

}  // namespace reprise::model
