// A schema as tokens at positions: what is encoded once and then found in place by every prompt
// that is derived from it. [Prompt Cache §3.3]
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "methods/prompt_cache/pml/encoder.h"
#include "methods/prompt_cache/pml/tree.h"
#include "methods/prompt_cache/pml/turn_template.h"

namespace reprise::pml {

// A run of tokens at consecutive positions, which is cached and imported as a whole.
struct Piece {
  int32_t id = 0;          // its index in CompiledSchema::pieces
  int32_t module = 0;      // whose own text it is
  int32_t run = 0;         // counts the module's texts from 1; 0: a parameter's placeholder
  int32_t parameter = -1;  // whose placeholder it is; -1: text
  int64_t first = 0;       // position of tokens[0]
  std::vector<int32_t> tokens;

  [[nodiscard]] int64_t end() const { return first + static_cast<int64_t>(tokens.size()); }
};

// Module 0 is the schema's own text, the anonymous modules of the paper, which every prompt
// imports. Positions of a module are [first, end), those of its parameters, gaps and inner modules
// among them.
struct CompiledModule {
  int32_t id = 0;
  std::string name, path;  // of module 0 "."
  Place place;
  int32_t parent = -1;  // the module around it; -1: module 0 itself
  int32_t group = -1;   // the union it is a member of; -1: none
  bool is_cached = true;
  int64_t first = 0, end = 0;
  std::vector<int32_t> pieces;    // its own text and placeholders, by position
  std::vector<int32_t> children;  // modules directly inside, members of its unions among them

  [[nodiscard]] int64_t length() const { return end - first; }
};

// Positions [first, first + length) wait for an argument. While the module is encoded, its
// placeholder stands there: the tokens of scaffold=, then TextEncoder::placeholder.
struct CompiledParameter {
  int32_t id = 0;
  int32_t module = 0, piece = 0;
  std::string name;
  Place place;
  int64_t first = 0, length = 0;
  bool begins_with_space = false;  // white space stands before it, which the argument begins with
};

// Members start at `first`; the union takes the longest, up to `end`.
struct CompiledUnion {
  int32_t id = 0;
  int32_t module = 0;  // around it
  Place place;
  std::vector<int32_t> members;  // modules
  int32_t default_member = -1;   // module; -1: none
  int64_t first = 0, end = 0;
};

// Modules encoded together in addition, whose states override the single ones where a prompt
// imports all of them.
struct CompiledScaffold {
  int32_t id = 0;
  Place place;
  std::vector<int32_t> modules;  // sorted; 0 is the schema's own text
};

struct CompiledSchema {
  std::string file, name, chat_template;
  Rules rules = Rules::kPml;
  std::vector<Piece> pieces;            // in document order
  std::vector<CompiledModule> modules;  // in document order
  std::vector<CompiledParameter> parameters;
  std::vector<CompiledUnion> unions;
  std::vector<CompiledScaffold> scaffolds;
  int64_t length = 0;                             // positions; a prompt's last text begins here
  std::array<int32_t, 3> open_turns = {0, 0, 0};  // see Schema

  // "travel-plan#2", the second text of a module, or "travel-plan:city", a parameter; the schema's
  // own texts are "#1", "#2", ...
  [[nodiscard]] std::string name_of(const Piece& piece) const;
  [[nodiscard]] std::string name_of(const CompiledParameter& parameter) const;
};

struct LayoutOptions {
  std::string chat_template = "plain";
  Rules rules = Rules::kPml;
  int64_t max_positions = 0;  // of the model; 0: no end
  Limits limits = {};
};

// Positions run in document order from 0: a text takes one for each of its tokens, a parameter and
// a gap their length, a module what is inside it, a union its longest member, and all members of a
// union begin at the same one. Each text is tokenized by itself and nothing is put before it but
// what the chat template says.
//
// Throws Error, or ProblemsError, each problem with its place: a scaffold text longer than its
// parameter, a schema longer than the model's positions or the limits. Throws Error for a chat
// template that is not known or that the tokenizer has no tokens for.
CompiledSchema compile_schema(const Schema& schema, const TextEncoder& encoder,
                              const LayoutOptions& options);

// Forward passes that encode the schema jointly, as the released code does: one, and one for each
// member of a union that is not its default.
[[nodiscard]] int64_t joint_passes(const CompiledSchema& schema);
// True if a module and all modules around it that are members of unions are the default ones.
[[nodiscard]] bool is_in_first_pass(const CompiledSchema& schema, int32_t module);

}  // namespace reprise::pml
