// Requests whose prompts are paths through a tree of prefixes: system prompts, sets of examples,
// documents.
//
// A prompt is one of `groups` system prompts, one of its `few_shots` sets of examples, one of that
// set's `documents`, then the user's own tokens. The choice at each level is drawn independently by
// Zipf's law. Only the system prompt is a declared prefix. A level of length 0 adds nothing.
#include "workloads/serving/sources.h"

#include "core/base/error.h"
#include "workloads/serving/draws.h"

namespace reprise::workloads::serving {
namespace {

// One level of the tree. `branches` is the number of children of each node one level above,
// `tokens` the length of each node of this level.
struct Level {
  int64_t branches = 1, tokens = 0;
  Draw draw = Draw::kGroup;
  ZipfChoice choice;
};

class Tree final : public Entries {
 public:
  explicit Tree(const SourceOptions& options)
      : seed_(options.prompts_seed),
        requests_(options.requests),
        levels_{level(options, options.groups, options.shared_tokens, Draw::kGroup),
                level(options, options.few_shots, options.few_shot_tokens, Draw::kFewShot),
                level(options, options.documents, options.document_tokens, Draw::kDocument)},
        user_(length_range("tree", "user_tokens", options.user_tokens, options.user_tokens_most)),
        output_(length_range("tree", "output_tokens", options.output_tokens,
                             options.output_tokens_most)) {
    require_given("tree", "requests", requests_);
    require_given("tree", "shared_tokens", options.shared_tokens);
    // Limits the number of nodes, so that it cannot overflow.
    double nodes = 1;
    for (const Level& each : levels_) nodes *= static_cast<double>(each.branches);
    if (nodes > static_cast<double>(kMostRequests))
      raise("source \"tree\": groups * few_shots * documents is {}, it must be at most {}", nodes,
            kMostRequests);
  }

  [[nodiscard]] int64_t size() const override { return requests_; }
  [[nodiscard]] RequestSource::Lengths lengths(int64_t entry) const override {
    int64_t tokens = user_.draw(seed_, Draw::kUserTokens, entry);
    for (const Level& each : levels_) tokens += each.tokens;
    return {.prompt = tokens, .output = output_.draw(seed_, Draw::kOutputTokens, entry)};
  }
  void add_parts(int64_t entry, std::vector<PromptPart>& out) const override {
    int64_t node = 0, first = 0, nodes = 1;  // node within its level; nodes of the levels above
    for (const Level& each : levels_) {
      node = node * each.branches + each.choice.choose(draw_unit(seed_, each.draw, entry));
      out.push_back({.item = -1 - (first + node), .tokens = each.tokens});
      nodes *= each.branches;
      first += nodes;
    }
    out.push_back({.item = entry, .tokens = user_.draw(seed_, Draw::kUserTokens, entry)});
  }
  [[nodiscard]] std::vector<Prefix> prefixes() const override {
    std::vector<Prefix> prefixes;
    for (int64_t system = 0; system < levels_[0].branches; ++system)
      prefixes.push_back({.name = fmt::format("system {}", system),
                          .parts = {{.item = -1 - system, .tokens = levels_[0].tokens}}});
    return prefixes;
  }
  [[nodiscard]] int32_t prefix(int64_t entry) const override {
    return static_cast<int32_t>(levels_[0].choice.choose(draw_unit(seed_, Draw::kGroup, entry)));
  }

 private:
  static Level level(const SourceOptions& options, int64_t branches, int64_t tokens, Draw draw) {
    return {.branches = branches,
            .tokens = tokens,
            .draw = draw,
            .choice = ZipfChoice(branches, options.zipf_exponent)};
  }

  uint64_t seed_;
  int64_t requests_;
  Level levels_[3];
  LengthRange user_, output_;
};

}  // namespace

SourceInfo tree_info() {
  return {.name = "tree",
          .summary = "prefixes of three levels: system prompts, examples, documents",
          .fields = {"requests", "order", "shared_tokens", "user_tokens", "user_tokens_most",
                     "output_tokens", "output_tokens_most", "groups", "zipf_exponent", "few_shots",
                     "few_shot_tokens", "documents", "document_tokens"}};
}

std::unique_ptr<Entries> make_tree(const SourceOptions& options) {
  return std::make_unique<Tree>(options);
}

}  // namespace reprise::workloads::serving
