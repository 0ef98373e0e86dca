// A reader of config.json for each family; parse_config() chooses one by model_type.
#pragma once

#include "core/model/config/config_reader.h"

namespace reprise::model {

// Each of these functions fills all fields except name, model_type and stored_dtype.
void read_llama(JsonObject& json, ModelConfig& config);
void read_mistral(JsonObject& json, ModelConfig& config);
void read_mixtral(JsonObject& json, ModelConfig& config);
void read_qwen2_moe(JsonObject& json, ModelConfig& config);
void read_deepseek(JsonObject& json, ModelConfig& config);
void read_falcon(JsonObject& json, ModelConfig& config);
void read_mpt(JsonObject& json, ModelConfig& config);
void read_phi(JsonObject& json, ModelConfig& config);
void read_bert(JsonObject& json, ModelConfig& config);
void read_roberta(JsonObject& json, ModelConfig& config);
void read_deberta(JsonObject& json, ModelConfig& config);
void read_deberta_v2(JsonObject& json, ModelConfig& config);
// Reads what BERT and its successors have in common: a post-norm encoder with biases everywhere.
// The family's own reader sets positions and token types.
void read_post_norm_encoder(JsonObject& json, double norm_epsilon, ModelConfig& config);

}  // namespace reprise::model
