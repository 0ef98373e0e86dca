#include "methods/prompt_cache/pml/references.h"

#include <algorithm>

#include <fmt/format.h>

#include <array>
#include <utility>

namespace reprise::pml {
namespace {

class Resolver {
 public:
  Resolver(const Prompt& prompt, const CompiledSchema& schema, Report& report)
      : prompt_(prompt), schema_(schema), report_(report), open_(schema.open_turns) {
    for (const CompiledModule& one : schema.modules)
      if (one.parent >= 0) module_of_name_.try_emplace(std::pair(one.parent, one.name), one.id);
  }

  ResolvedPrompt run() {
    out_.modules.emplace(0, prompt_.place);
    if (prompt_.schema != schema_.name) {
      report_.add(
          prompt_.place,
          fmt::format("the prompt is of schema \"{}\", and {} holds \"{}\"; give the schema "
                      "that it names",
                      prompt_.schema, schema_.file, schema_.name));
      return std::move(out_);
    }
    nodes(prompt_.children);
    return std::move(out_);
  }

 private:
  const CompiledModule& module(int32_t id) const {
    return schema_.modules[static_cast<size_t>(id)];
  }

  void nodes(const std::vector<PromptNode>& children) {
    for (const PromptNode& node : children)
      std::visit([&](const auto& value) { add(value); }, node.value);
  }

  void add(const Text& text) { out_.sequence.emplace_back(text); }

  void add(const PromptChat& chat) {
    const bool is_whole = chat.part == Part::kWhole;
    balance(chat);
    out_.sequence.emplace_back(
        TurnMarker{chat.role, is_whole ? Part::kOpen : chat.part, chat.place});
    if (!is_whole) return;
    nodes(chat.children);
    out_.sequence.emplace_back(TurnMarker{chat.role, Part::kClose, chat.place});
  }

  // Reports a closing tag of a turn that neither the prompt nor the schema has opened.
  void balance(const PromptChat& chat) {
    int32_t& open = open_[static_cast<size_t>(chat.role)];
    if (chat.part == Part::kOpen) ++open;
    if (chat.part != Part::kClose || --open >= 0) return;
    open = 0;
    report_.add(
        chat.place,
        fmt::format("<{} part=\"close\"/> closes no turn of the schema or the prompt; write "
                    "<{} part=\"open\"/> before it",
                    pml::name_of(chat.role), pml::name_of(chat.role)));
  }

  void add(const Reference& reference) {
    const size_t before = out_.arguments.size();
    if (const int32_t id = bring_in(reference, 0); id > 0)
      out_.sequence.emplace_back(TopImport{id});
    put_in_front(0, before);
  }

  // The released code takes references from a stack, so the last of several sibling references
  // comes first. Moves the last sibling's arguments (from index `begin` on) before the arguments of
  // the other siblings (from index `first` on).
  void put_in_front(size_t first, size_t begin) {
    if (schema_.rules != Rules::kAsCoded) return;
    const auto at = [&](size_t index) {
      return out_.arguments.begin() + static_cast<std::ptrdiff_t>(index);
    };
    std::rotate(at(first), at(begin), out_.arguments.end());
  }

  // Imports the module of a reference. Returns its index, or -1 if there is no such module.
  int32_t bring_in(const Reference& reference, int32_t parent) {
    const int32_t id = find(reference, parent);
    if (id < 0) return id;
    const auto [first, is_new] = out_.modules.try_emplace(id, reference.place);
    if (!is_new) {
      report_.add(reference.place,
                  fmt::format("module \"{}\" is imported in line {} already; import "
                              "it once",
                              module(id).path, first->second.line));
      return id;
    }
    exclude_others(reference, id);
    for (const Argument& argument : reference.arguments) give(argument, id);
    const size_t first_nested = out_.arguments.size();
    for (const Reference& nested : reference.nested) {
      const size_t before = out_.arguments.size();
      bring_in(nested, id);
      put_in_front(first_nested, before);
    }
    return id;
  }

  int32_t find(const Reference& reference, int32_t parent) {
    const auto found = module_of_name_.find(std::pair(parent, reference.name));
    if (found != module_of_name_.end()) return found->second;
    std::vector<std::string> names;
    for (const int32_t child : module(parent).children) names.push_back(module(child).name);
    std::string sentence =
        unknown(parent == 0 ? "module" : "module of \"" + module(parent).path + "\"",
                reference.name, names);
    for (const CompiledModule& other : schema_.modules) {
      if (other.id == 0 || other.name != reference.name) continue;
      sentence +=
          other.parent == 0
              ? fmt::format("; \"{}\" is imported by itself, not inside another module", other.path)
              : fmt::format("; import \"{}\" inside <{}>", other.path, module(other.parent).name);
      break;
    }
    report_.add(reference.place, sentence);
    return -1;
  }

  void exclude_others(const Reference& reference, int32_t id) {
    const int32_t group = module(id).group;
    if (group < 0) return;
    const auto [chosen, is_first] = members_.try_emplace(group, id);
    if (!is_first)
      report_.add(
          reference.place,
          fmt::format("\"{}\" and \"{}\" (line {}) are of one union, of which a prompt has one; "
                      "take one out",
                      module(id).path, module(chosen->second).path,
                      out_.modules.at(chosen->second).line));
  }

  void give(const Argument& argument, int32_t id) {
    std::vector<std::string> names;
    for (const int32_t piece : module(id).pieces) {
      const int32_t index = schema_.pieces[static_cast<size_t>(piece)].parameter;
      if (index < 0) continue;
      const CompiledParameter& parameter = schema_.parameters[static_cast<size_t>(index)];
      if (parameter.name == argument.parameter) {
        out_.arguments.push_back({index, argument.place, argument.value});
        return;
      }
      names.push_back(parameter.name);
    }
    report_.add(argument.place,
                unknown("parameter of \"" + module(id).path + "\"", argument.parameter, names));
  }

  const Prompt& prompt_;
  const CompiledSchema& schema_;
  Report& report_;
  std::array<int32_t, 3> open_;
  std::map<std::pair<int32_t, std::string>, int32_t> module_of_name_;  // key: parent, name
  std::map<int32_t, int32_t> members_;  // union to its member that was imported first
  ResolvedPrompt out_;
};

}  // namespace

ResolvedPrompt resolve(const Prompt& prompt, const CompiledSchema& schema, Report& report) {
  return Resolver(prompt, schema, report).run();
}

}  // namespace reprise::pml
