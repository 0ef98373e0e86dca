// Requests that all have the same lengths, as in the papers' synthetic loads.
//
// Two forms. ChunkAttention's requests have n_p prompt tokens, of which n_s are the same for all,
// and n_c tokens to generate [ChunkAttention §4.2]. RelayAttention's have a user's tokens after a
// system prompt. Throws Error if the options of both forms or of neither are given, and if a prompt
// is shorter than its shared part.
#include "workloads/serving/sources.h"

#include "core/base/error.h"
#include "workloads/serving/draws.h"

namespace reprise::workloads::serving {
namespace {

class Grid final : public Entries {
 public:
  explicit Grid(const SourceOptions& options)
      : requests_(options.requests),
        shared_tokens_(options.shared_tokens),
        lengths_{.prompt = prompt_tokens(options), .output = options.output_tokens} {
    require_given("grid", "requests", requests_);
    require_given("grid", "output_tokens", lengths_.output);
  }

  [[nodiscard]] int64_t size() const override { return requests_; }
  [[nodiscard]] RequestSource::Lengths lengths(int64_t /*entry*/) const override {
    return lengths_;
  }
  void add_parts(int64_t entry, std::vector<PromptPart>& out) const override {
    out.push_back(shared());
    out.push_back({.item = entry, .tokens = lengths_.prompt - shared_tokens_});
  }
  [[nodiscard]] std::vector<Prefix> prefixes() const override {
    if (shared_tokens_ == 0) return {};
    return {{.name = "system", .parts = {shared()}}};
  }
  [[nodiscard]] int32_t prefix(int64_t /*entry*/) const override {
    return shared_tokens_ > 0 ? 0 : -1;
  }

 private:
  static int64_t prompt_tokens(const SourceOptions& options) {
    if ((options.prompt_tokens == 0) == (options.user_tokens == 0))
      raise(
          "source \"grid\" needs prompt_tokens (with what is shared) or user_tokens (without), and "
          "not both; found {} and {}",
          options.prompt_tokens, options.user_tokens);
    if (options.user_tokens > 0) return options.shared_tokens + options.user_tokens;
    if (options.prompt_tokens < options.shared_tokens)
      raise("source \"grid\": shared_tokens is {}, more than prompt_tokens, which is {}",
            options.shared_tokens, options.prompt_tokens);
    return options.prompt_tokens;
  }
  [[nodiscard]] PromptPart shared() const { return {.item = -1, .tokens = shared_tokens_}; }

  int64_t requests_, shared_tokens_;
  RequestSource::Lengths lengths_;
};

}  // namespace

SourceInfo grid_info() {
  return {.name = "grid",
          .summary = "prompts of one length that share a prefix, outputs of one length",
          .fields = {"requests", "order", "prompt_tokens", "shared_tokens", "user_tokens",
                     "output_tokens"}};
}

std::unique_ptr<Entries> make_grid(const SourceOptions& options) {
  return std::make_unique<Grid>(options);
}

}  // namespace reprise::workloads::serving
