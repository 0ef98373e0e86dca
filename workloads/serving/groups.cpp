// Requests of several groups, each with its own prefix.
//
// The group of request i, and its lengths if a range is given, depend only on the seed and i.
#include "workloads/serving/sources.h"

#include "core/base/error.h"
#include "workloads/serving/draws.h"

namespace reprise::workloads::serving {
namespace {

class Groups final : public Entries {
 public:
  explicit Groups(const SourceOptions& options)
      : seed_(options.prompts_seed),
        requests_(options.requests),
        groups_(options.groups),
        shared_tokens_(options.shared_tokens),
        group_(options.groups, options.zipf_exponent),
        user_(length_range("groups", "user_tokens", options.user_tokens, options.user_tokens_most)),
        output_(length_range("groups", "output_tokens", options.output_tokens,
                             options.output_tokens_most)) {
    require_given("groups", "requests", requests_);
    require_given("groups", "shared_tokens", shared_tokens_);
  }

  [[nodiscard]] int64_t size() const override { return requests_; }
  [[nodiscard]] RequestSource::Lengths lengths(int64_t entry) const override {
    return {.prompt = shared_tokens_ + user_.draw(seed_, Draw::kUserTokens, entry),
            .output = output_.draw(seed_, Draw::kOutputTokens, entry)};
  }
  void add_parts(int64_t entry, std::vector<PromptPart>& out) const override {
    out.push_back(shared(prefix(entry)));
    out.push_back({.item = entry, .tokens = user_.draw(seed_, Draw::kUserTokens, entry)});
  }
  [[nodiscard]] std::vector<Prefix> prefixes() const override {
    std::vector<Prefix> prefixes;
    for (int64_t group = 0; group < groups_; ++group)
      prefixes.push_back({.name = fmt::format("group {}", group), .parts = {shared(group)}});
    return prefixes;
  }
  [[nodiscard]] int32_t prefix(int64_t entry) const override {
    return static_cast<int32_t>(group_.choose(draw_unit(seed_, Draw::kGroup, entry)));
  }

 private:
  [[nodiscard]] PromptPart shared(int64_t group) const {
    return {.item = -1 - group, .tokens = shared_tokens_};
  }

  uint64_t seed_;
  int64_t requests_, groups_, shared_tokens_;
  ZipfChoice group_;
  LengthRange user_, output_;
};

}  // namespace

SourceInfo groups_info() {
  return {.name = "groups",
          .summary = "groups of requests, each with a prefix of its own",
          .fields = {"requests", "order", "shared_tokens", "user_tokens", "user_tokens_most",
                     "output_tokens", "output_tokens_most", "groups", "zipf_exponent"}};
}

std::unique_ptr<Entries> make_groups(const SourceOptions& options) {
  return std::make_unique<Groups>(options);
}

}  // namespace reprise::workloads::serving
