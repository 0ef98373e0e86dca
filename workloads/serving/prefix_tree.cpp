// Made-up requests whose prompts are paths through a tree of prefixes: the sources "grid",
// "groups", "tree" and "system_prompts".
//
// A prompt is one of the declared prefixes, which are the tree's first level, a node of each level
// below, and the user's own tokens. The choice at each level is drawn independently by Zipf's law.
// The path of request i, and its lengths if ranges are given, depend only on the seed and i.
#include <algorithm>
#include <filesystem>
#include <string_view>
#include <utility>

#include "core/base/byte_order_mark.h"
#include "core/base/error.h"
#include "core/base/json.h"
#include "core/tokenizer/tokenizer.h"
#include "workloads/serving/draws.h"
#include "workloads/serving/sources.h"

namespace reprise::workloads::serving {
namespace {

namespace fs = std::filesystem;

// One level below the prefixes. `branches` is the number of children of each node one level above,
// `tokens` the length of each node of this level.
struct Level {
  int64_t branches = 1, tokens = 0;
  Draw draw = Draw::kFewShot;
  ZipfChoice choice;
};

struct Tree {
  std::vector<Entries::Prefix> prefixes;         // of one part each; may be empty
  std::vector<Level> levels = {};                // below the prefixes
  std::vector<std::vector<int32_t>> texts = {};  // owns the texts of the prefixes' parts
};

struct Ranges {
  LengthRange user, output;
};

class PrefixTree final : public Entries {
 public:
  PrefixTree(const SourceOptions& options, const Ranges& ranges, Tree tree)
      : seed_(options.prompts_seed),
        requests_(options.requests),
        ranges_(ranges),
        tree_(std::move(tree)),
        choice_(std::max<int64_t>(std::ssize(tree_.prefixes), 1), options.zipf_exponent) {}

  [[nodiscard]] int64_t size() const override { return requests_; }
  [[nodiscard]] RequestSource::Lengths lengths(int64_t entry) const override {
    std::vector<PromptPart> parts;
    add_parts(entry, parts);
    return {.prompt = count_tokens(parts),
            .output = ranges_.output.draw(seed_, Draw::kOutputTokens, entry)};
  }
  void add_parts(int64_t entry, std::vector<PromptPart>& out) const override {
    int64_t node = prefix(entry), nodes = std::ssize(tree_.prefixes);
    if (node >= 0) out.push_back(tree_.prefixes[static_cast<size_t>(node)].parts.front());
    int64_t first = 0;  // number of the level's first node
    for (const Level& level : tree_.levels) {
      first += nodes;
      nodes *= level.branches;
      node = node * level.branches + level.choice.choose(draw_unit(seed_, level.draw, entry));
      out.push_back({.item = -1 - (first + node), .tokens = level.tokens});
    }
    out.push_back({.item = entry, .tokens = ranges_.user.draw(seed_, Draw::kUserTokens, entry)});
  }
  [[nodiscard]] std::vector<Prefix> prefixes() const override { return tree_.prefixes; }
  [[nodiscard]] int32_t prefix(int64_t entry) const override {
    if (tree_.prefixes.empty()) return -1;
    return static_cast<int32_t>(choice_.choose(draw_unit(seed_, Draw::kGroup, entry)));
  }

 private:
  uint64_t seed_;
  int64_t requests_;
  Ranges ranges_;
  Tree tree_;
  ZipfChoice choice_;  // chooses a request's prefix
};

Ranges ranges_of(const char* source, const SourceOptions& options) {
  const Ranges ranges{
      .user = length_range(source, "user_tokens", options.user_tokens, options.user_tokens_most),
      .output =
          length_range(source, "output_tokens", options.output_tokens, options.output_tokens_most)};
  require_given(source, "requests", options.requests);
  return ranges;
}

// Returns the prefixes "NAME 0", "NAME 1", ..., as many as `groups`, of made-up tokens.
std::vector<Entries::Prefix> made_up_prefixes(const char* name, const SourceOptions& options) {
  std::vector<Entries::Prefix> prefixes;
  for (int64_t group = 0; group < options.groups; ++group)
    prefixes.push_back({.name = fmt::format("{} {}", name, group),
                        .parts = {{.item = -1 - group, .tokens = options.shared_tokens}}});
  return prefixes;
}

int64_t grid_user_tokens(const SourceOptions& options) {
  if ((options.prompt_tokens == 0) == (options.user_tokens == 0))
    raise(
        "source \"grid\" needs prompt_tokens (with what is shared) or user_tokens (without), and "
        "not both; found {} and {}",
        options.prompt_tokens, options.user_tokens);
  if (options.user_tokens > 0) return options.user_tokens;
  if (options.prompt_tokens < options.shared_tokens)
    raise("source \"grid\": shared_tokens is {}, more than prompt_tokens, which is {}",
          options.shared_tokens, options.prompt_tokens);
  return options.prompt_tokens - options.shared_tokens;
}

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

}  // namespace

// Requests that all have the same lengths, in two forms. ChunkAttention's have n_p prompt tokens,
// of which n_s are the same for all, and n_c tokens to generate [ChunkAttention §4.2].
// RelayAttention's have a user's tokens after a system prompt.
SourceInfo grid_info() {
  return {.name = "grid",
          .summary = "prompts of one length that share a prefix, outputs of one length",
          .fields = {"requests", "order", "prompt_tokens", "shared_tokens", "user_tokens",
                     "output_tokens"}};
}

std::unique_ptr<Entries> make_grid(const SourceOptions& options) {
  const int64_t user = grid_user_tokens(options), output = options.output_tokens;
  require_given("grid", "requests", options.requests);
  require_given("grid", "output_tokens", output);
  Tree tree;
  if (options.shared_tokens > 0)
    tree.prefixes.push_back(
        {.name = "system", .parts = {{.item = -1, .tokens = options.shared_tokens}}});
  const Ranges ranges{.user = {user, user}, .output = {output, output}};
  return std::make_unique<PrefixTree>(options, ranges, std::move(tree));
}

SourceInfo groups_info() {
  return {.name = "groups",
          .summary = "groups of requests, each with a prefix of its own",
          .fields = {"requests", "order", "shared_tokens", "user_tokens", "user_tokens_most",
                     "output_tokens", "output_tokens_most", "groups", "zipf_exponent"}};
}

std::unique_ptr<Entries> make_groups(const SourceOptions& options) {
  const Ranges ranges = ranges_of("groups", options);
  require_given("groups", "shared_tokens", options.shared_tokens);
  Tree tree{.prefixes = made_up_prefixes("group", options)};
  return std::make_unique<PrefixTree>(options, ranges, std::move(tree));
}

// Each of the `groups` system prompts has `few_shots` sets of examples, and each set has
// `documents`. A level of length 0 adds nothing.
SourceInfo tree_info() {
  return {.name = "tree",
          .summary = "prefixes of three levels: system prompts, examples, documents",
          .fields = {"requests", "order", "shared_tokens", "user_tokens", "user_tokens_most",
                     "output_tokens", "output_tokens_most", "groups", "zipf_exponent", "few_shots",
                     "few_shot_tokens", "documents", "document_tokens"}};
}

std::unique_ptr<Entries> make_tree(const SourceOptions& options) {
  const Ranges ranges = ranges_of("tree", options);
  require_given("tree", "shared_tokens", options.shared_tokens);
  // Limits the number of nodes, so that node numbers cannot overflow.
  const double nodes = static_cast<double>(options.groups) *
                       static_cast<double>(options.few_shots) *
                       static_cast<double>(options.documents);
  if (nodes > static_cast<double>(kMostRequests))
    raise("source \"tree\": groups * few_shots * documents is {}, it must be at most {}", nodes,
          kMostRequests);
  Tree tree{.prefixes = made_up_prefixes("system", options)};
  const auto add_level = [&](int64_t branches, int64_t tokens, Draw draw) {
    tree.levels.push_back({.branches = branches,
                           .tokens = tokens,
                           .draw = draw,
                           .choice = ZipfChoice(branches, options.zipf_exponent)});
  };
  add_level(options.few_shots, options.few_shot_tokens, Draw::kFewShot);
  add_level(options.documents, options.document_tokens, Draw::kDocument);
  return std::make_unique<PrefixTree>(options, ranges, std::move(tree));
}

// `file` is a text or a folder of texts (.txt, .md), sorted by name. Each text is a prefix, and the
// user's tokens are made up. Texts are tokenized separately, as a server keeps them.
SourceInfo system_prompts_info() {
  return {.name = "system_prompts",
          .summary = "made-up questions behind real system prompts, each a prefix",
          .file = FileUse::kNeeded,
          .fields = {"requests", "order", "user_tokens", "user_tokens_most", "output_tokens",
                     "output_tokens_most", "zipf_exponent", "most_prompt_tokens",
                     "most_output_tokens", "too_long"}};
}

std::unique_ptr<Entries> make_system_prompts(const SourceOptions& options) {
  constexpr size_t kMostTextBytes = size_t{16} << 20;
  const Ranges ranges = ranges_of("system_prompts", options);
  const std::shared_ptr<const Tokenizer> tokenizer = options.tokenizer();
  Tree tree;
  for (const fs::path& file : find_texts(options.file)) {
    const std::string whole = read_file(file, kMostTextBytes);
    const std::string_view text = without_byte_order_mark(whole);
    // The text is checked, since even an empty text may have an opening token such as BOS.
    if (text.find_first_not_of(" \t\r\n") == std::string_view::npos)
      raise("{} holds no text: remove the file, or write the system prompt into it", file.string());
    const std::vector<int32_t>& tokens = tree.texts.emplace_back(tokenizer->encode(text));
    tree.prefixes.push_back({.name = file.filename().string(),
                             .parts = {{.tokens = std::ssize(tokens), .text = tokens.data()}}});
  }
  return std::make_unique<PrefixTree>(options, ranges, std::move(tree));
}

}  // namespace reprise::workloads::serving
