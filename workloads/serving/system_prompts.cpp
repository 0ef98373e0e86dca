// Requests that continue real system prompts with made-up tokens.
//
// `file` is a text or a folder of texts (.txt, .md), sorted by name. Each text is a declared
// prefix. A request draws one, uniformly or by Zipf's law, and continues with made-up tokens. Texts
// are tokenized separately, as a server keeps them.
#include "workloads/serving/sources.h"

#include <algorithm>
#include <filesystem>

#include "core/base/error.h"
#include "core/base/json.h"
#include "core/tokenizer/tokenizer.h"
#include "workloads/serving/draws.h"

namespace reprise::workloads::serving {
namespace {

namespace fs = std::filesystem;

constexpr const char* kName = "system_prompts";
constexpr size_t kMostTextBytes = size_t{16} << 20;

std::vector<fs::path> find_texts(const fs::path& place) {
  if (!fs::is_directory(place)) return {place};
  std::vector<fs::path> texts;
  for (const fs::directory_entry& entry : fs::directory_iterator(place)) {
    const std::string ending = entry.path().extension();
    if (entry.is_regular_file() && (ending == ".txt" || ending == ".md"))
      texts.push_back(entry.path());
  }
  std::sort(texts.begin(), texts.end());
  if (texts.empty()) raise("{} holds no .txt and no .md", place.string());
  return texts;
}

class SystemPrompts final : public Entries {
 public:
  explicit SystemPrompts(const SourceOptions& options)
      : seed_(options.prompts_seed),
        requests_(options.requests),
        user_(length_range(kName, "user_tokens", options.user_tokens, options.user_tokens_most)),
        output_(length_range(kName, "output_tokens", options.output_tokens,
                             options.output_tokens_most)) {
    require_given(kName, "requests", requests_);
    const std::shared_ptr<const Tokenizer> tokenizer = options.tokenizer();
    for (const fs::path& text : find_texts(options.file)) {
      const std::string content = read_file(text, kMostTextBytes);
      // The text is checked, since even an empty text may have an opening token such as BOS.
      if (content.find_first_not_of(" \t\r\n") == std::string::npos)
        raise("{} holds no text: remove the file, or write the system prompt into it",
              text.string());
      prompts_.push_back({text.filename().string(), tokenizer->encode(content)});
    }
    choice_ = std::make_unique<ZipfChoice>(std::ssize(prompts_), options.zipf_exponent);
  }

  [[nodiscard]] int64_t size() const override { return requests_; }
  [[nodiscard]] RequestSource::Lengths lengths(int64_t entry) const override {
    return {.prompt = std::ssize(prompt(prefix(entry)).tokens) +
                      user_.draw(seed_, Draw::kUserTokens, entry),
            .output = output_.draw(seed_, Draw::kOutputTokens, entry)};
  }
  void add_parts(int64_t entry, std::vector<PromptPart>& out) const override {
    out.push_back(text(prefix(entry)));
    out.push_back({.item = entry, .tokens = user_.draw(seed_, Draw::kUserTokens, entry)});
  }
  [[nodiscard]] std::vector<Prefix> prefixes() const override {
    std::vector<Prefix> prefixes;
    for (int32_t p = 0; p < std::ssize(prompts_); ++p)
      prefixes.push_back({.name = prompt(p).name, .parts = {text(p)}});
    return prefixes;
  }
  [[nodiscard]] int32_t prefix(int64_t entry) const override {
    return static_cast<int32_t>(choice_->choose(draw_unit(seed_, Draw::kGroup, entry)));
  }

 private:
  struct Prompt {
    std::string name;
    std::vector<int32_t> tokens;
  };
  [[nodiscard]] const Prompt& prompt(int32_t number) const {
    return prompts_[static_cast<size_t>(number)];
  }
  [[nodiscard]] PromptPart text(int32_t number) const {
    const std::vector<int32_t>& tokens = prompt(number).tokens;
    return {.item = -1 - number, .tokens = std::ssize(tokens), .text = tokens.data()};
  }

  uint64_t seed_;
  int64_t requests_;
  LengthRange user_, output_;
  std::vector<Prompt> prompts_;
  std::unique_ptr<ZipfChoice> choice_;
};

}  // namespace

SourceInfo system_prompts_info() {
  return {.name = kName,
          .summary = "made-up questions behind real system prompts, each a prefix",
          .file = FileUse::kNeeded,
          .fields = {"requests", "order", "user_tokens", "user_tokens_most", "output_tokens",
                     "output_tokens_most", "zipf_exponent", "most_prompt_tokens",
                     "most_output_tokens", "too_long"}};
}

std::unique_ptr<Entries> make_system_prompts(const SourceOptions& options) {
  return std::make_unique<SystemPrompts>(options);
}

}  // namespace reprise::workloads::serving
