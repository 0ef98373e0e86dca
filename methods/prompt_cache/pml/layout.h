// Compiles a schema to tokens at positions. The schema is encoded once, and every prompt derived
// from it imports the states at the same positions. [Prompt Cache §3.3]
//
// Positions are assigned in document order, from 0. A text takes one position per token, a
// parameter and a gap their length, a module the sum of its content and a union the length of its
// longest member; all members of a union begin at the same position. Each text is tokenized by
// itself, with only the chat template's markers added.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "methods/prompt_cache/pml/encoder.h"
#include "methods/prompt_cache/pml/tree.h"
#include "methods/prompt_cache/pml/turn_template.h"

namespace reprise::pml {

// A run of tokens at consecutive positions that is cached and imported as a whole.
struct Piece {
  int32_t id = 0;          // its index in CompiledSchema::pieces
  int32_t module = 0;      // index of the module that it belongs to
  int32_t run = 0;         // number of the text in its module, from 1; 0: a placeholder
  int32_t parameter = -1;  // index of the parameter whose positions it fills; -1: text
  int64_t first = 0;       // position of tokens[0]
  std::vector<int32_t> tokens;

  [[nodiscard]] int64_t end() const { return first + static_cast<int64_t>(tokens.size()); }
};

// A module. Module 0 is the schema's own text (the paper's anonymous modules), which every prompt
// imports. A module's positions are [first, end), including its parameters, gaps and inner modules.
struct CompiledModule {
  int32_t id = 0;
  std::string name, path;  // both "." for module 0
  Place place;
  int32_t parent = -1;  // the module around it; -1: module 0 itself
  int32_t group = -1;   // the union it is a member of; -1: none
  bool is_cached = true;
  int64_t first = 0, end = 0;
  std::vector<int32_t> pieces;    // its own text and placeholders, by position
  std::vector<int32_t> children;  // modules directly inside, including members of its unions

  [[nodiscard]] int64_t length() const { return end - first; }
};

// A parameter: its argument takes positions from [first, first + length). While the module is
// encoded, these positions contain the tokens of scaffold=, then TextEncoder::placeholder.
struct CompiledParameter {
  int32_t id = 0;
  int32_t module = 0, piece = 0;
  std::string name;
  Place place;
  int64_t first = 0, length = 0;
  bool begins_with_space = false;  // white space precedes it, so its argument gets a space
};

// A union: all members start at `first`, and the longest ends at `end`.
struct CompiledUnion {
  int32_t id = 0;
  int32_t module = 0;  // the module that contains it
  Place place;
  std::vector<int32_t> members;  // indices of modules
  int32_t default_member = -1;   // index of a module; -1: none
  int64_t first = 0, end = 0;
};

// Modules that are also encoded together. Their joint states replace the separate ones in a prompt
// that imports all of them.
struct CompiledScaffold {
  int32_t id = 0;
  Place place;
  std::vector<int32_t> modules;  // indices, ascending; 0 is the schema's own text
};

struct CompiledSchema {
  std::string file, name, chat_template;
  Rules rules = Rules::kPml;
  std::vector<Piece> pieces;            // in document order
  std::vector<CompiledModule> modules;  // in document order
  std::vector<CompiledParameter> parameters;
  std::vector<CompiledUnion> unions;
  std::vector<CompiledScaffold> scaffolds;
  int64_t length = 0;                             // in positions; a prompt's last text begins here
  std::array<int32_t, 3> open_turns = {0, 0, 0};  // see Schema

  // "travel-plan#2" for the second text of a module, "travel-plan:city" for a parameter, and "#1",
  // "#2", ... for the schema's own texts.
  [[nodiscard]] std::string name_of(const Piece& piece) const;
  [[nodiscard]] std::string name_of(const CompiledParameter& parameter) const;
};

struct LayoutOptions {
  std::string chat_template = "plain";
  Rules rules = Rules::kPml;
  int64_t max_positions = 0;  // positions that the model has; 0: no limit
  Limits limits = {};
};

// Compiles a schema. Throws Error or ProblemsError, each problem with its place, for a scaffold
// text longer than its parameter and a schema longer than the model's positions or the limits.
// Throws Error for an unknown chat template, and for a turn whose special tokens the tokenizer
// lacks.
CompiledSchema compile_schema(const Schema& schema, const TextEncoder& encoder,
                              const LayoutOptions& options);

// Number of forward passes that encode the schema jointly, as the released code does: one, plus one
// for each union member that is not its union's default.
[[nodiscard]] int64_t joint_passes(const CompiledSchema& schema);
// True if neither the module nor a module around it is a union member other than the default.
[[nodiscard]] bool is_in_first_pass(const CompiledSchema& schema, int32_t module);

}  // namespace reprise::pml
