// One reader of config.json for each family; parse_config chooses by model_type.
#pragma once

#include "core/model/config/config_reader.h"

namespace reprise::model {

// Each fills everything but name, model_type and stored_dtype.
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
// What BERT and those after it share: a post-norm encoder with biases everywhere. Leaves positions
// and token types to the family.
void read_post_norm_encoder(JsonObject& json, double norm_epsilon, ModelConfig& config);

}  // namespace reprise::model
