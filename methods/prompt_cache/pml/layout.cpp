#include "methods/prompt_cache/pml/layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/base/error.h"
#include "methods/prompt_cache/pml/text_run.h"

namespace reprise::pml {
namespace {

class Layout {
 public:
  Layout(const Schema& schema, const TextEncoder& encoder, const LayoutOptions& options)
      : schema_(schema),
        encoder_(encoder),
        options_(options),
        report_(schema.file),
        template_(turn_template(options.chat_template, options.rules)),
        run_(template_, encoder, options.rules, /*is_of_prompt=*/false) {}

  CompiledSchema compile() {
    out_.file = schema_.file;
    out_.name = schema_.name;
    out_.chat_template = template_.name;
    out_.rules = options_.rules;
    out_.open_turns = schema_.open_turns;
    const int32_t root = add_module({.name = ".", .path = ".", .place = schema_.place});
    children(schema_.children, root);
    finish_run(root);
    out_.modules[0].end = out_.length = position_;
    scaffolds();
    report_.raise_if_any();
    return std::move(out_);
  }

 private:
  int32_t add_module(CompiledModule module) {
    module.id = static_cast<int32_t>(out_.modules.size());
    module.first = position_;
    module_of_path_[module.path] = module.id;
    runs_.push_back(0);
    out_.modules.push_back(std::move(module));
    return out_.modules.back().id;
  }

  // Advances by the `count` positions that the element at `place` takes. Reports a schema that
  // exceeds the limits (and throws) or the model's positions (once).
  void take(int64_t count, Place place) {
    position_ += count;
    if (position_ > options_.limits.positions) {
      report_.add(place, fmt::format("the schema takes more than {} positions up to here; split it",
                                     options_.limits.positions));
      report_.raise_if_any();
    }
    if (options_.max_positions > 0 && position_ > options_.max_positions && !is_beyond_) {
      is_beyond_ = true;
      report_.add(place, fmt::format("the schema takes {} positions up to here, and the model has "
                                     "{}; shorten it, or put what excludes each other into a union",
                                     position_, options_.max_positions));
    }
  }

  void children(const std::vector<Node>& nodes, int32_t module) {
    for (const Node& node : nodes)
      std::visit([&](const auto& value) { add(value, module); }, node.value);
  }

  // Adds the pending text as a piece of `module`. Returns true if the text ended in white space
  // that belongs to what follows, such as an argument.
  bool finish_run(int32_t module) {
    TextRun::Tokens tokens = run_.finish(/*is_beginning=*/is_beginning_);
    if (!tokens.ids.empty()) {
      is_beginning_ = false;
      const int32_t run = ++runs_[static_cast<size_t>(module)];
      add_piece({.module = module, .run = run, .tokens = std::move(tokens.ids)}, tokens.place);
    }
    return tokens.ends_in_space;
  }

  int32_t add_piece(Piece piece, Place place) {
    piece.id = static_cast<int32_t>(out_.pieces.size());
    piece.first = position_;
    take(static_cast<int64_t>(piece.tokens.size()), place);
    out_.modules[static_cast<size_t>(piece.module)].pieces.push_back(piece.id);
    out_.pieces.push_back(std::move(piece));
    return out_.pieces.back().id;
  }

  // Ends the pending text at the border of a file or of a module without a name. White space before
  // the border belongs to what follows, because the border takes no position.
  void add_border(int32_t module, Place place) {
    if (finish_run(module)) run_.add({.place = place, .text = " "});
  }

  void add(const Text& text, int32_t module) {
    if (text.is_file) add_border(module, text.place);
    run_.add(text);
    if (text.is_file) add_border(module, text.place);
  }

  void add(const Chat& chat, int32_t module) {
    if (chat.part == Part::kWhole) {
      run_.add_marker(chat.role, Part::kOpen, chat.place);
      children(chat.children, module);
      run_.add_marker(chat.role, Part::kClose, chat.place);
    } else {
      run_.add_marker(chat.role, chat.part, chat.place);
    }
  }

  void add(const Gap& gap, int32_t module) {
    if (gap.length == 0) {
      add_border(module, gap.place);
      return;
    }
    finish_run(module);
    is_beginning_ = false;
    take(gap.length, gap.place);
  }

  void add(const Parameter& parameter, int32_t module) {
    CompiledParameter out{.id = static_cast<int32_t>(out_.parameters.size()),
                          .module = module,
                          .name = parameter.name,
                          .place = parameter.place,
                          .length = parameter.length};
    out.begins_with_space = finish_run(module);
    is_beginning_ = false;
    out.first = position_;
    // Checks the parameter's length, which comes from the file, before placeholders of that length
    // are allocated.
    take(parameter.length, parameter.place);
    position_ = out.first;
    std::vector<int32_t> tokens;
    if (!parameter.scaffold.empty()) tokens = encoder_.encode(parameter.scaffold);
    if (static_cast<int64_t>(tokens.size()) > parameter.length)
      report_.add(
          parameter.place,
          fmt::format("scaffold=\"{}\" takes {} tokens, and parameter \"{}\" holds {}; shorten "
                      "it, or raise the length",
                      parameter.scaffold, tokens.size(), parameter.name, parameter.length));
    tokens.resize(static_cast<size_t>(parameter.length), encoder_.placeholder);
    out.piece = add_piece({.module = module, .parameter = out.id, .tokens = std::move(tokens)},
                          parameter.place);
    out_.parameters.push_back(std::move(out));
  }

  void add(const Module& module, int32_t parent) { place_module(module, parent, /*group=*/-1); }

  int32_t place_module(const Module& module, int32_t parent, int32_t group) {
    finish_run(parent);
    is_beginning_ = false;
    const CompiledModule& around = out_.modules[static_cast<size_t>(parent)];
    const int32_t id =
        add_module({.name = module.name,
                    .path = path_below(parent == 0 ? "" : around.path, module.name),
                    .place = module.place,
                    .parent = parent,
                    .group = group,
                    // The released code reads cache= and never uses it.
                    .is_cached = module.is_cached || options_.rules == Rules::kAsCoded});
    out_.modules[static_cast<size_t>(parent)].children.push_back(id);
    children(module.children, id);
    finish_run(id);
    out_.modules[static_cast<size_t>(id)].end = position_;
    return id;
  }

  void add(const Union& group, int32_t module) {
    finish_run(module);
    const auto id = static_cast<int32_t>(out_.unions.size());
    const int64_t first = position_;
    int64_t end = first;
    out_.unions.push_back({.id = id, .module = module, .place = group.place, .first = first});
    for (const Module& member : group.members) {
      position_ = first;
      const int32_t placed = place_module(member, module, id);
      CompiledUnion& out = out_.unions[static_cast<size_t>(id)];  // inner unions may reallocate
      out.members.push_back(placed);
      if (member.name == group.default_member) out.default_member = placed;
      end = std::max(end, position_);
    }
    position_ = end;
    out_.unions[static_cast<size_t>(id)].end = end;
  }

  void scaffolds() {
    for (const Scaffold& scaffold : schema_.scaffolds) {
      CompiledScaffold out{.id = static_cast<int32_t>(out_.scaffolds.size()),
                           .place = scaffold.place};
      for (const std::string& path : scaffold.paths)
        out.modules.push_back(module_of_path_.at(path));
      std::sort(out.modules.begin(), out.modules.end());
      out_.scaffolds.push_back(std::move(out));
    }
  }

  const Schema& schema_;
  const TextEncoder& encoder_;
  const LayoutOptions& options_;
  Report report_;
  const TurnTemplate& template_;
  TextRun run_;
  CompiledSchema out_;
  std::map<std::string, int32_t> module_of_path_;
  std::vector<int32_t> runs_;  // number of texts of each module so far
  int64_t position_ = 0;
  bool is_beginning_ = true;  // no element of the schema is placed yet
  bool is_beyond_ = false;    // the model's positions are exceeded, and this was reported
};

}  // namespace

std::string CompiledSchema::name_of(const Piece& piece) const {
  if (piece.parameter >= 0) return name_of(parameters[static_cast<size_t>(piece.parameter)]);
  return fmt::format(
      "{}#{}", piece.module == 0 ? "" : modules[static_cast<size_t>(piece.module)].path, piece.run);
}

std::string CompiledSchema::name_of(const CompiledParameter& parameter) const {
  return modules[static_cast<size_t>(parameter.module)].path + ":" + parameter.name;
}

CompiledSchema compile_schema(const Schema& schema, const TextEncoder& encoder,
                              const LayoutOptions& options) {
  return Layout(schema, encoder, options).compile();
}

int64_t joint_passes(const CompiledSchema& schema) {
  int64_t passes = 1;
  for (const CompiledUnion& group : schema.unions)
    for (const int32_t member : group.members) passes += is_in_first_pass(schema, member) ? 0 : 1;
  return passes;
}

bool is_in_first_pass(const CompiledSchema& schema, int32_t module) {
  for (; module >= 0; module = schema.modules[static_cast<size_t>(module)].parent) {
    const int32_t group = schema.modules[static_cast<size_t>(module)].group;
    if (group >= 0 && schema.unions[static_cast<size_t>(group)].default_member != module)
      return false;
  }
  return true;
}

}  // namespace reprise::pml
