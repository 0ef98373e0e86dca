// ShareGPT's conversations, sampled as RelayAttention's authors do.
//
// `file` is a .json file of ShareGPT_V3's form, [{"id", "conversations": [{"from", "value"}, ...]},
// ...]: the first text is the prompt, and the second gives the output's length. Or it is a .csv
// file of prompt and response lengths, for which prompts are made up.
//
// Conversations that the authors drop are dropped: those with fewer than two texts, with fewer than
// 4 tokens in the prompt or the output, with more than 1024 tokens in the prompt (opening tokens
// included), or with more than 2048 in both together. A made-up declared prefix of `shared_tokens`
// additional tokens replaces the opening tokens.
#include "workloads/serving/sources.h"

#include "core/base/error.h"
#include "core/tokenizer/tokenizer.h"
#include "workloads/serving/draws.h"
#include "workloads/serving/recorded_lengths.h"
#include "workloads/serving/sharegpt_file.h"
#include "workloads/serving/text_entries.h"

namespace reprise::workloads::serving {
namespace {

// The limits of the authors' benchmark program.
bool is_kept(int64_t prompt_tokens, int64_t output_tokens) {
  return prompt_tokens >= 4 && output_tokens >= 4 && prompt_tokens <= 1024 &&
         prompt_tokens + output_tokens <= 2048;
}

std::unique_ptr<Entries> lengths_alone(const SourceOptions& options) {
  auto entries = std::make_unique<RecordedLengths>(options);
  for_each_length_pair(options.file, {}, [&](int64_t prompt, int64_t output) {
    if (is_kept(prompt, output))
      entries->add(prompt, output);
    else
      entries->leave_out();
  });
  return entries;
}

// Turns conversations into tokens, one by one.
class Sampler {
 public:
  explicit Sampler(const SourceOptions& options)
      : options_(options), file_(options.file), tokenizer_(options.tokenizer()) {
    if (options.length_divisor != 1)
      raise("source \"sharegpt\": length_divisor divides recorded lengths, and {} has texts",
            options.file.string());
    if (options.shared_tokens > 0) entries_->add_made_up_prefix("system", options.shared_tokens);
  }

  std::unique_ptr<Entries> sample() {
    sample_entries(file_.size(), options_, [this](int64_t place) { return take(place); });
    entries_->finish();
    return std::move(entries_);
  }

 private:
  bool take(int64_t place) {
    const std::vector<Message> messages = file_.messages(place);
    if (messages.size() < 2) return leave_out();
    std::vector<int32_t> prompt = tokenizer_->encode(messages[0].text);
    const int64_t output = std::ssize(tokenizer_->encode(messages[1].text));
    if (!is_kept(std::ssize(prompt), output)) return leave_out();
    if (options_.shared_tokens > 0)
      prompt = tokenizer_->encode(messages[0].text, {.add_special = false});
    const int64_t before =
        options_.salt.tokens(/*has_text=*/options_.shared_tokens == 0) + options_.shared_tokens;
    if (options_.too_long == "drop" && is_too_long(options_, before + std::ssize(prompt), output)) {
      entries_->leave_out_too_long();
      return false;
    }
    entries_->add(
        {.place = place, .prefix = options_.shared_tokens > 0 ? 0 : -1, .output_tokens = output},
        prompt);
    return true;
  }

  bool leave_out() {
    entries_->leave_out();
    return false;
  }

  const SourceOptions& options_;
  ShareGptFile file_;
  std::shared_ptr<const Tokenizer> tokenizer_;
  std::unique_ptr<TextEntries> entries_ = std::make_unique<TextEntries>();
};

}  // namespace

SourceInfo sharegpt_info() {
  return {.name = "sharegpt",
          .summary = "ShareGPT's first turns, sampled as RelayAttention's authors do",
          .file = FileUse::kNeeded,
          .fields = {"requests", "order", "shared_tokens", "length_divisor", "most_prompt_tokens",
                     "most_output_tokens", "too_long"}};
}

std::unique_ptr<Entries> make_sharegpt(const SourceOptions& options) {
  const std::string kind = options.file.extension().string();
  if (kind == ".csv") return lengths_alone(options);
  if (kind == ".json") return Sampler(options).sample();
  raise(
      "source \"sharegpt\": {} ends with neither .json (conversations) nor .csv (lengths of "
      "prompts "
      "and responses)",
      options.file.string());
}

}  // namespace reprise::workloads::serving
