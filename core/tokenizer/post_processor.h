// The post-processors of tokenizer.json, which put special tokens around a text.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/tokenizer/added_tokens.h"
#include "core/tokenizer/json_place.h"

namespace reprise::tokenizer {

// Holds templates: lists of ids in which kText stands for the text itself. In a sequence of
// processors, each one takes the result of the previous one as its text, so the last processor's
// tokens are outermost.
class PostProcessor {
 public:
  static constexpr int32_t kText = -1;

  PostProcessor() = default;  // adds no tokens
  // Supports TemplateProcessing ByteLevel BertProcessing RobertaProcessing Sequence. For any other
  // type throws Error naming it. Templates for pairs of texts are checked but not used, since
  // prompts are single texts.
  explicit PostProcessor(const JsonPlace& place);

  [[nodiscard]] std::vector<int32_t> apply(std::vector<int32_t> ids, bool add_special) const;

  // Removes all tokens before the text (set_last: after it), and puts `id` there if there is one.
  void set_first(std::optional<int32_t> id);
  void set_last(std::optional<int32_t> id);

 private:
  void read(const JsonPlace& place);
  void read_template(const JsonPlace& place, JsonObject& object);
  void read_bert(const JsonPlace& place, JsonObject& object);

  std::vector<std::vector<int32_t>> templates_;  // innermost first
};

}  // namespace reprise::tokenizer
