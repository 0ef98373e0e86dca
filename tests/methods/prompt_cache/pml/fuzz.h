// Random and damaged schemas and prompts. Each must be refused with an Error, or be laid out so
// that nothing overlaps and all lengths add up.
#pragma once

#include <algorithm>
#include <cstdint>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "tests/methods/prompt_cache/pml/pml_testing.h"

namespace reprise::pml {

// An encoder that gives one token per word, all with the same id; layouts need no more.
inline TextEncoder counting_encoder() {
  TextEncoder encoder = byte_encoder();
  encoder.encode = [](std::string_view text) {
    std::vector<int32_t> ids;
    bool is_inside = false;
    for (const char c : text) {
      const bool is_blank = c == ' ' || c == '\t' || c == '\n' || c == '\r';
      if (!is_blank && !is_inside) ids.push_back('w');
      is_inside = !is_blank;
    }
    return ids;
  };
  return encoder;
}

// Makes random schemas by PML's grammar, a few of which have names that collide, and prompts for
// them.
class Grammar {
 public:
  explicit Grammar(uint64_t seed) : random_(seed) {}

  std::string schema() {
    names_ = 0;
    std::string text = "<schema name=\"s\">" + children(0, /*is_root=*/true, /*in_chat=*/false);
    if (one_in(4)) text += "<scaffold modules=\". m1\"/>";
    return text + "</schema>";
  }

  // A prompt that imports modules of `schema`, mostly in a valid way.
  std::string prompt(const CompiledSchema& schema) {
    std::string text = "<prompt schema=\"s\">";
    if (one_in(4)) text += words();
    text += imports(schema, 0, 0);
    if (!one_in(16)) text += one_in(4) ? fmt::format("<user>{}</user>", words()) : words();
    return text + "</prompt>";
  }

  bool one_in(uint64_t n) { return random_() % n == 0; }
  uint64_t below(uint64_t n) { return random_() % n; }
  std::mt19937_64& random() { return random_; }

 private:
  std::string words() {
    static const std::vector<std::string> kParts = {
        "one",  "two ",   " three",     "\n  four\n",         " ",
        "&lt;", "&#233;", "<!-- c -->", "<![CDATA[ a < b ]]>"};
    std::string text;
    for (uint64_t i = 1 + below(3); i > 0; --i) text += kParts[below(kParts.size())];
    return text;
  }
  std::string name() {
    if (!one_in(40)) ++names_;
    return fmt::format("m{}", names_);
  }

  std::string module(int depth, bool in_chat) {
    const std::string opening =
        fmt::format("<module name=\"{}\"{}>", name(), one_in(8) ? " cache=\"false\"" : "");
    return opening + children(depth + 1, /*is_root=*/false, in_chat) + "</module>";
  }

  std::string make_union(int depth, bool in_chat) {
    std::string inside;
    for (uint64_t i = 1 + below(3); i > 0; --i) inside += module(depth, in_chat);
    const size_t first = inside.find('"') + 1;
    const std::string member = inside.substr(first, inside.find('"', first) - first);
    const std::string scaffold = one_in(2) ? fmt::format(" scaffold=\"{}\"", member) : "";
    return fmt::format("<union{}>{}</union>", scaffold, inside);
  }

  std::string children(int depth, bool is_root, bool in_chat) {
    std::string text;
    for (uint64_t i = below(depth == 0 ? 6 : 4); i > 0; --i) {
      const uint64_t kind = below(depth > 3 ? 4 : 9);
      if (kind < 2) {
        text += words();
      } else if (kind == 2) {
        text += fmt::format("<gap len=\"{}\"/>", 1 + below(9));
      } else if (kind == 3) {
        if (!is_root)
          text += fmt::format("<param name=\"p{}{}\" len=\"{}\"{}/>", names_, i, 1 + below(5),
                              one_in(3) ? " scaffold=\"x y\"" : "");
      } else if (kind < 6) {
        text += module(depth, in_chat);
      } else if (kind < 8) {
        text += make_union(depth, in_chat);
      } else if (!in_chat) {
        const std::string role = kRoleNames[below(3)];
        text += fmt::format("<{0}>w{1}</{0}>", role, children(depth + 1, is_root, true));
      }
    }
    return text;
  }

  std::string imports(const CompiledSchema& schema, int32_t parent, int depth) {
    std::string text;
    std::vector<int32_t> order = schema.modules[static_cast<size_t>(parent)].children;
    if (one_in(2)) std::shuffle(order.begin(), order.end(), random_);
    std::set<int32_t> groups;
    for (const int32_t id : order) {
      const CompiledModule& module = schema.modules[static_cast<size_t>(id)];
      if (one_in(3) || (groups.contains(module.group) && !one_in(20))) continue;
      if (module.group >= 0) groups.insert(module.group);
      text += "<" + module.name;
      for (const int32_t piece : module.pieces)
        if (const int32_t index = schema.pieces[static_cast<size_t>(piece)].parameter;
            index >= 0 && one_in(2))
          text += fmt::format(" {}=\"v w\"", schema.parameters[static_cast<size_t>(index)].name);
      text += fmt::format(">{}</{}>", imports(schema, id, depth + 1), module.name);
      if (depth == 0 && one_in(3)) text += words();
    }
    return text;
  }

  std::mt19937_64 random_;
  int names_ = 0;
};

// Returns the text after a few edits: bytes are flipped, set, removed or repeated, or markup is
// inserted.
inline std::string mutated(std::string text, std::mt19937_64& random) {
  static const std::vector<std::string> kMarkup = {"<",
                                                   ">",
                                                   "&",
                                                   "\"",
                                                   "/>",
                                                   "</module>",
                                                   "<union>",
                                                   "<user/>",
                                                   "<!--",
                                                   "]]>",
                                                   "<![CDATA[",
                                                   "<param ",
                                                   " len=\"9\"",
                                                   " part=\"open\"",
                                                   std::string(1, '\0'),
                                                   "&#x10FFFF;",
                                                   "<a:b c=''/>",
                                                   "<?x?>",
                                                   "<gap len=\"99999999\"/>"};
  for (uint64_t edits = 1 + random() % 4; edits > 0 && !text.empty(); --edits) {
    const size_t at = random() % text.size();
    const size_t length = std::min<size_t>(1 + random() % 24, text.size() - at);
    switch (random() % 6) {
      case 0:
        text[at] = static_cast<char>(text[at] ^ (1 << random() % 8));
        break;
      case 1:
        text[at] = static_cast<char>(random());
        break;
      case 2:
        text.erase(at, length);
        break;
      case 3:
        text.insert(random() % text.size(), text.substr(at, length));
        break;
      default:
        text.insert(at, kMarkup[random() % kMarkup.size()]);
    }
  }
  return text;
}

struct Stretch {
  int64_t first = 0, end = 0;
};

inline int64_t length_of(const std::vector<Stretch>& parts) {
  int64_t sum = 0;
  for (const Stretch& part : parts) sum += part.end - part.first;
  return sum;
}

// True if no stretch overlaps another.
inline bool are_disjoint(std::vector<Stretch> parts) {
  std::sort(parts.begin(), parts.end(), [](const Stretch& a, const Stretch& b) {
    return a.first != b.first ? a.first < b.first : a.end < b.end;
  });
  for (size_t i = 1; i < parts.size(); ++i)
    if (parts[i].first < parts[i - 1].end) return false;
  return true;
}

// Adds up the lengths of the gaps directly in each module. The modules are in document order, and
// the schema comes first.
inline void collect_gaps(const std::vector<Node>& nodes, size_t module,
                         std::vector<int64_t>& gaps) {
  for (const Node& node : nodes) {
    if (const auto* gap = std::get_if<Gap>(&node.value)) gaps[module] += gap->length;
    if (const auto* chat = std::get_if<Chat>(&node.value))
      collect_gaps(chat->children, module, gaps);
    const auto enter = [&](const Module& inner) {
      gaps.push_back(0);
      collect_gaps(inner.children, gaps.size() - 1, gaps);
    };
    if (const auto* inner = std::get_if<Module>(&node.value)) enter(*inner);
    if (const auto* group = std::get_if<Union>(&node.value))
      for (const Module& member : group->members) enter(member);
  }
}

inline void expect_consistent(const Schema& tree, const CompiledSchema& schema) {
  std::vector<int64_t> gaps = {0};
  collect_gaps(tree.children, 0, gaps);
  ASSERT_EQ(gaps.size(), schema.modules.size());
  for (const CompiledModule& module : schema.modules) {
    std::vector<Stretch> parts;
    for (const int32_t id : module.pieces) {
      const Piece& piece = schema.pieces[static_cast<size_t>(id)];
      EXPECT_EQ(piece.module, module.id);
      EXPECT_FALSE(piece.tokens.empty());
      parts.push_back({piece.first, piece.end()});
    }
    for (const int32_t id : module.children) {
      const CompiledModule& child = schema.modules[static_cast<size_t>(id)];
      EXPECT_EQ(child.parent, module.id);
      if (child.group < 0) parts.push_back({child.first, child.end});
    }
    for (const CompiledUnion& group : schema.unions)
      if (group.module == module.id) parts.push_back({group.first, group.end});
    EXPECT_TRUE(are_disjoint(parts)) << module.path;
    EXPECT_EQ(length_of(parts) + gaps[static_cast<size_t>(module.id)], module.length())
        << module.path;
    for (const Stretch& part : parts) {
      EXPECT_GE(part.first, module.first);
      EXPECT_LE(part.end, module.end);
    }
  }
  for (const CompiledUnion& group : schema.unions) {
    int64_t end = group.first;
    for (const int32_t id : group.members) {
      const CompiledModule& member = schema.modules[static_cast<size_t>(id)];
      EXPECT_EQ(member.first, group.first);
      end = std::max(end, member.end);
    }
    EXPECT_EQ(group.end, end);
  }
  for (const CompiledParameter& parameter : schema.parameters) {
    const Piece& piece = schema.pieces[static_cast<size_t>(parameter.piece)];
    EXPECT_EQ(piece.parameter, parameter.id);
    EXPECT_EQ(piece.first, parameter.first);
    EXPECT_EQ(piece.end() - piece.first, parameter.length);
  }
  EXPECT_EQ(schema.length, schema.modules[0].length());
}

inline void expect_consistent(const CompiledSchema& schema, const CompiledPrompt& prompt) {
  std::vector<Stretch> parts;
  for (const int32_t id : prompt.pieces) {
    const Piece& piece = schema.pieces[static_cast<size_t>(id)];
    EXPECT_LT(piece.parameter, 0);
    parts.push_back({piece.first, piece.end()});
  }
  EXPECT_EQ(length_of(parts), prompt.cached_tokens);
  int64_t new_tokens = 0;
  for (const NewRun& run : prompt.new_runs) {
    EXPECT_FALSE(run.tokens.empty());
    new_tokens += static_cast<int64_t>(run.tokens.size());
    parts.push_back({run.first, run.end()});
    if (run.kind != NewKind::kArgument) continue;
    const CompiledParameter& parameter = schema.parameters[static_cast<size_t>(run.parameter)];
    EXPECT_EQ(run.first, parameter.first);
    EXPECT_LE(run.end(), parameter.first + parameter.length);
  }
  EXPECT_GT(new_tokens, 0);
  EXPECT_EQ(new_tokens, prompt.new_tokens);
  EXPECT_TRUE(are_disjoint(parts));
  int64_t end = 0;
  for (const Stretch& part : parts) end = std::max(end, part.end);
  EXPECT_EQ(end, prompt.end);
  EXPECT_TRUE(std::is_sorted(prompt.new_runs.begin(), prompt.new_runs.end(),
                             [](const NewRun& a, const NewRun& b) { return a.first < b.first; }));
}

struct FuzzCounts {
  int64_t schemas = 0, prompts = 0, refused = 0;
};

// Tests one input of the grammar, which is damaged in two of three cases.
inline void fuzz_once(Grammar& grammar, const TextEncoder& encoder, FuzzCounts& counts) {
  std::string text = grammar.schema();
  if (!grammar.one_in(3)) text = mutated(text, grammar.random());
  SCOPED_TRACE(text);
  try {
    const Schema tree = schema_of(text);
    const CompiledSchema schema = compile_schema(tree, encoder, {});
    ++counts.schemas;
    expect_consistent(tree, schema);
    std::string derived = grammar.prompt(schema);
    if (grammar.one_in(4)) derived = mutated(derived, grammar.random());
    SCOPED_TRACE(derived);
    const CompiledPrompt prompt = compile_prompt(prompt_of(derived), schema, encoder, 10'000);
    ++counts.prompts;
    expect_consistent(schema, prompt);
  } catch (const Error& error) {
    ++counts.refused;
    const std::string message = error.what();
    EXPECT_TRUE(message.find("s.xml:") != message.npos || message.find("p.xml:") != message.npos)
        << message;
  }
}

inline FuzzCounts fuzz(uint64_t seed, int64_t rounds) {
  Grammar grammar(seed);
  const TextEncoder encoder = counting_encoder();
  FuzzCounts counts;
  for (int64_t round = 0; round < rounds; ++round) {
    fuzz_once(grammar, encoder, counts);
    if (::testing::Test::HasFailure()) {
      ADD_FAILURE() << "seed " << seed << " round " << round;
      break;
    }
  }
  return counts;
}

}  // namespace reprise::pml
