// The head of a fine-tuned encoder, which gives each text a score for each label.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

#include "core/model/config/config.h"

namespace reprise::model {

// logits = W2 f(W1 h + b1) + b2 of the last state h of a text's first token, as the sequence
// classifiers of transformers compute it: f is tanh for BERT and RoBERTa, and DeBERTa's
// pooler_hidden_act.
struct TaskHead {
  int64_t hidden = 0, labels = 0;
  bool is_gelu = false;              // f: GELU with erf; else tanh
  std::vector<float> dense, bias;    // W1 [hidden, hidden], b1 [hidden]
  std::vector<float> out, out_bias;  // W2 [labels, hidden], b2 [labels]
};

// Reads the head in a checkpoint's folder; nullopt if the model is no encoder or has no such head.
// Throws Error naming the tensor if the head is incomplete or its size does not fit the model. Also
// throws as CheckpointFiles does.
std::optional<TaskHead> read_task_head(const std::filesystem::path& folder,
                                       const ModelConfig& config);

}  // namespace reprise::model
