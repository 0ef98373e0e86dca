#include "app/pml_map.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace reprise::app {
namespace {

struct Line {
  std::string name;
  int64_t first = 0, end = 0;
};

template <typename Item>
const Item& item(const std::vector<Item>& items, int32_t id) {
  return items[static_cast<size_t>(id)];
}

std::string text_of(const std::vector<Line>& lines) {
  std::string out;
  for (const Line& line : lines) out += fmt::format("{} {} {}\n", line.name, line.first, line.end);
  return out;
}

// The name of each new run, in order.
std::vector<std::string> names_of_new(const pml::CompiledPrompt& prompt,
                                      const pml::CompiledSchema& schema) {
  std::vector<std::string> names;
  int texts = 0;
  for (const pml::NewRun& run : prompt.new_runs) {
    if (run.kind == pml::NewKind::kArgument)
      names.push_back(schema.name_of(item(schema.parameters, run.parameter)));
    else if (run.kind == pml::NewKind::kUncached)
      names.push_back(schema.name_of(item(schema.pieces, run.piece)));
    else
      names.push_back(fmt::format("#{}", ++texts));
  }
  return names;
}

const char* kind_name(pml::NewKind kind) {
  switch (kind) {
    case pml::NewKind::kArgument:
      return "argument";
    case pml::NewKind::kText:
      return "text";
    case pml::NewKind::kUncached:
      return "uncached";
  }
  return "";
}

Fields range(const std::string& name, int64_t first, int64_t end) {
  return {{"name", name}, {"first", first}, {"end", end}};
}

std::vector<std::string> paths_of(const std::vector<int32_t>& modules,
                                  const pml::CompiledSchema& schema) {
  std::vector<std::string> paths;
  for (const int32_t id : modules) paths.push_back(item(schema.modules, id).path);
  return paths;
}

Fields fields_of(const pml::CompiledUnion& group, const pml::CompiledSchema& schema) {
  Fields out = {{"first", group.first},
                {"end", group.end},
                {"members", paths_of(group.members, schema)},
                {"default", nullptr}};
  if (group.default_member >= 0) out["default"] = item(schema.modules, group.default_member).path;
  return out;
}

}  // namespace

std::string map_of(const pml::CompiledSchema& schema) {
  std::vector<Line> lines;
  for (const pml::CompiledModule& module : schema.modules) {
    lines.push_back({module.path, module.first, module.end});
    for (const int32_t id : module.pieces) {
      const pml::Piece& piece = item(schema.pieces, id);
      lines.push_back({schema.name_of(piece), piece.first, piece.end()});
    }
  }
  return text_of(lines);
}

std::string map_of(const pml::CompiledPrompt& prompt, const pml::CompiledSchema& schema) {
  std::vector<Line> lines;
  for (const int32_t id : prompt.pieces) {
    const pml::Piece& piece = item(schema.pieces, id);
    lines.push_back({schema.name_of(piece), piece.first, piece.end()});
  }
  const std::vector<std::string> names = names_of_new(prompt, schema);
  for (size_t i = 0; i < names.size(); ++i)
    lines.push_back({"+" + names[i], prompt.new_runs[i].first, prompt.new_runs[i].end()});
  std::stable_sort(lines.begin(), lines.end(),
                   [](const Line& a, const Line& b) { return a.first < b.first; });
  return text_of(lines);
}

Fields fields_of(const pml::CompiledSchema& schema) {
  Fields out = {{"name", schema.name},        {"chat_template", schema.chat_template},
                {"positions", schema.length}, {"joint_passes", pml::joint_passes(schema)},
                {"modules", Values()},        {"texts", Values()},
                {"parameters", Values()},     {"unions", Values()},
                {"scaffolds", Values()}};
  for (const pml::CompiledModule& module : schema.modules) {
    Fields entry = range(module.path, module.first, module.end);
    entry["cached"] = module.is_cached;
    out["modules"].list().emplace_back(entry);
  }
  for (const pml::Piece& piece : schema.pieces)
    if (piece.parameter < 0)
      out["texts"].list().emplace_back(range(schema.name_of(piece), piece.first, piece.end()));
  for (const pml::CompiledParameter& parameter : schema.parameters)
    out["parameters"].list().emplace_back(
        range(schema.name_of(parameter), parameter.first, parameter.first + parameter.length));
  for (const pml::CompiledUnion& group : schema.unions)
    out["unions"].list().emplace_back(fields_of(group, schema));
  for (const pml::CompiledScaffold& scaffold : schema.scaffolds)
    out["scaffolds"].list().emplace_back(paths_of(scaffold.modules, schema));
  return out;
}

Fields fields_of(const pml::CompiledPrompt& prompt, const pml::CompiledSchema& schema) {
  Fields out = {{"modules", paths_of(prompt.modules, schema)},
                {"cached", Values()},
                {"new", Values()},
                {"scaffolds", Values()},
                {"cached_tokens", prompt.cached_tokens},
                {"new_tokens", prompt.new_tokens},
                {"end", prompt.end}};
  for (const int32_t id : prompt.pieces) {
    const pml::Piece& piece = item(schema.pieces, id);
    out["cached"].list().emplace_back(range(schema.name_of(piece), piece.first, piece.end()));
  }
  const std::vector<std::string> names = names_of_new(prompt, schema);
  for (size_t i = 0; i < names.size(); ++i) {
    const pml::NewRun& run = prompt.new_runs[i];
    Fields entry = range(names[i], run.first, run.end());
    entry["kind"] = kind_name(run.kind);
    entry["ids"] = run.tokens;
    out["new"].list().emplace_back(entry);
  }
  for (const int32_t id : prompt.scaffolds)
    out["scaffolds"].list().emplace_back(paths_of(item(schema.scaffolds, id).modules, schema));
  return out;
}

}  // namespace reprise::app
