// The post-processors of tokenizer.json: the special tokens that go around a text.
#pragma once

#include <cstdint>
#include <vector>

#include "core/tokenizer/added_tokens.h"
#include "core/tokenizer/json_place.h"

namespace reprise::tokenizer {

// What is put around a single text, as lists of ids; kText stands for the text itself. Several
// processors in a sequence nest, the last one outermost.
class PostProcessor {
 public:
  static constexpr int32_t kText = -1;

  PostProcessor() = default;  // adds nothing
  // Supported: TemplateProcessing ByteLevel BertProcessing RobertaProcessing Sequence. Throws Error
  // naming what is not. Templates for pairs are checked but not used: prompts are single texts.
  explicit PostProcessor(const JsonPlace& place);

  [[nodiscard]] std::vector<int32_t> apply(std::vector<int32_t> ids, bool add_special) const;

  // As transformers does for Llama's family when tokenizer_config.json says add_bos_token or
  // add_eos_token: `id` opens (closes) the text if `wanted`, and does not otherwise.
  void set_first(int32_t id, bool wanted);
  void set_last(int32_t id, bool wanted);

 private:
  void read(const JsonPlace& place);
  void read_template(const JsonPlace& place, JsonObject& object);
  void read_bert(const JsonPlace& place, JsonObject& object);

  std::vector<std::vector<int32_t>> templates_;  // innermost first
};

}  // namespace reprise::tokenizer
