#include "methods/prompt_cache/encoding.h"

#include <algorithm>

#include "core/base/error.h"

namespace reprise::prompt_cache {
namespace {

using pml::CompiledModule;
using pml::CompiledSchema;

bool is_kept(const CompiledSchema& schema, const pml::Piece& piece) {
  return piece.parameter < 0 && schema.modules[static_cast<size_t>(piece.module)].is_cached;
}

void sort_by_position(const CompiledSchema& schema, std::vector<int32_t>& pieces) {
  std::sort(pieces.begin(), pieces.end(), [&](int32_t a, int32_t b) {
    return schema.pieces[static_cast<size_t>(a)].first <
           schema.pieces[static_cast<size_t>(b)].first;
  });
}

// Returns all pieces of `modules`, sorted by position.
std::vector<int32_t> pieces_of(const CompiledSchema& schema, const std::vector<int32_t>& modules) {
  std::vector<int32_t> pieces;
  for (const int32_t module : modules) {
    const auto& own = schema.modules[static_cast<size_t>(module)].pieces;
    pieces.insert(pieces.end(), own.begin(), own.end());
  }
  sort_by_position(schema, pieces);
  return pieces;
}

class Builder {
 public:
  explicit Builder(const CompiledSchema& schema) : schema_(schema) {
    encoding_.unit_of_piece.assign(schema.pieces.size(), -1);
    encoding_.unit_of_scaffold.assign(schema.scaffolds.size(), -1);
  }

  // Each of the schema's own texts is a module without a name, computed by itself.
  void isolated() {
    for (const int32_t piece : schema_.modules[0].pieces)
      use(add_alone("module " + schema_.name_of(schema_.pieces[static_cast<size_t>(piece)]),
                    {piece}));
    for (size_t module = 1; module < schema_.modules.size(); ++module)
      use(add_alone("module " + schema_.modules[module].path,
                    pieces_of(schema_, {schema_.modules[module].id})));
  }

  void scaffolds() {
    for (const pml::CompiledScaffold& scaffold : schema_.scaffolds)
      encoding_.unit_of_scaffold[static_cast<size_t>(scaffold.id)] =
          add_alone(fmt::format("scaffold {}", scaffold.id), pieces_of(schema_, scaffold.modules));
  }

  // Each pass computes the schema's text with one member chosen from each union: the default one,
  // or the one on the path to the module that the pass is for.
  void joint() {
    std::vector<int32_t> chosen(schema_.unions.size());
    for (const pml::CompiledUnion& group : schema_.unions)
      chosen[static_cast<size_t>(group.id)] = group.default_member;
    add_joint_pass(chosen, 0);
    for (const pml::CompiledUnion& group : schema_.unions)
      for (const int32_t member : group.members) {
        if (pml::is_in_first_pass(schema_, member)) continue;
        std::vector<int32_t> with = chosen;
        for (int32_t at = member; at >= 0; at = schema_.modules[static_cast<size_t>(at)].parent)
          if (const int32_t around = schema_.modules[static_cast<size_t>(at)].group; around >= 0)
            with[static_cast<size_t>(around)] = at;
        add_joint_pass(with, member);
      }
  }

  [[nodiscard]] Encoding take() { return std::move(encoding_); }

 private:
  // Adds a pass over the schema with at most one member of each union, `chosen` [unions]. Keeps the
  // modules inside `kept_root`, except for members of unions inside `kept_root`, because those have
  // passes of their own. The first pass, whose kept_root is 0, keeps all modules that it computes.
  void add_joint_pass(const std::vector<int32_t>& chosen, int32_t kept_root) {
    std::vector<int32_t> present, kept;
    list_present(0, chosen, present);
    for (const int32_t module : present)
      if (kept_root == 0 || belongs_to(module, kept_root)) kept.push_back(module);
    add_pass(present, kept);
  }

  void list_present(int32_t id, const std::vector<int32_t>& chosen,
                    std::vector<int32_t>& present) const {
    present.push_back(id);
    for (const int32_t child : schema_.modules[static_cast<size_t>(id)].children) {
      const int32_t group = schema_.modules[static_cast<size_t>(child)].group;
      if (group < 0 || chosen[static_cast<size_t>(group)] == child)
        list_present(child, chosen, present);
    }
  }

  // True if `module` is `root`, or lies inside `root` without a union in between.
  [[nodiscard]] bool belongs_to(int32_t module, int32_t root) const {
    while (module != root) {
      const CompiledModule& at = schema_.modules[static_cast<size_t>(module)];
      if (at.group >= 0 || at.parent < 0) return false;
      module = at.parent;
    }
    return true;
  }

  void add_pass(const std::vector<int32_t>& modules, const std::vector<int32_t>& kept) {
    EncodingPass pass{.pieces = pieces_of(schema_, modules), .units = {}};
    for (const int32_t module : kept) {
      const CompiledModule& of = schema_.modules[static_cast<size_t>(module)];
      const int32_t unit = add_unit("module " + of.path, pieces_of(schema_, {module}));
      use(unit);
      if (unit >= 0) pass.units.push_back(unit);
    }
    if (!pass.units.empty()) encoding_.passes.push_back(std::move(pass));
  }

  // Adds a pass that computes only these pieces. Returns the unit that keeps them, or -1 if none of
  // them is kept.
  int32_t add_alone(std::string name, std::vector<int32_t> pieces) {
    const int32_t unit = add_unit(std::move(name), pieces);
    if (unit >= 0) encoding_.passes.push_back({.pieces = std::move(pieces), .units = {unit}});
    return unit;
  }

  // Returns -1 if none of the pieces is kept.
  int32_t add_unit(std::string name, const std::vector<int32_t>& pieces) {
    StateUnit unit{.name = std::move(name), .pieces = {}, .firsts = {}, .tokens = 0};
    for (const int32_t index : pieces) {
      const pml::Piece& piece = schema_.pieces[static_cast<size_t>(index)];
      if (!is_kept(schema_, piece)) continue;
      unit.pieces.push_back(index);
      unit.firsts.push_back(unit.tokens);
      unit.tokens += static_cast<int32_t>(piece.tokens.size());
    }
    if (unit.pieces.empty()) return -1;
    encoding_.units.push_back(std::move(unit));
    return static_cast<int32_t>(encoding_.units.size()) - 1;
  }

  // Lets prompts import the texts of `unit` from this unit, unless a scaffold overrides them. -1:
  // no unit.
  void use(int32_t unit) {
    if (unit < 0) return;
    for (const int32_t piece : encoding_.units[static_cast<size_t>(unit)].pieces)
      encoding_.unit_of_piece[static_cast<size_t>(piece)] = unit;
  }

  const CompiledSchema& schema_;
  Encoding encoding_;
};

}  // namespace

const std::vector<std::string>& mode_names() {
  static const std::vector<std::string> names = {"isolated", "joint", "scaffold", "repair"};
  return names;
}

std::string name_of(Mode mode) { return mode_names()[static_cast<size_t>(mode)]; }

Mode mode_named(std::string_view name) {
  const auto& names = mode_names();
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) raise("{}", unknown_name("mode", std::string(name), names));
  return static_cast<Mode>(found - names.begin());
}

Encoding encoding_of(const CompiledSchema& schema, Mode mode) {
  Builder builder(schema);
  if (mode == Mode::kJoint) {
    builder.joint();
  } else {
    builder.isolated();
    if (mode == Mode::kScaffold) builder.scaffolds();
  }
  return builder.take();
}

std::vector<ImportedRun> imported_runs(const CompiledSchema& schema, const Encoding& encoding,
                                       const pml::CompiledPrompt& prompt) {
  std::vector<int32_t> units = encoding.unit_of_piece;
  for (const int32_t scaffold : prompt.scaffolds)
    if (const int32_t unit = encoding.unit_of_scaffold[static_cast<size_t>(scaffold)]; unit >= 0)
      for (const int32_t piece : encoding.units[static_cast<size_t>(unit)].pieces)
        units[static_cast<size_t>(piece)] = unit;
  const auto first_in = [&](const StateUnit& unit, const pml::Piece& piece) {
    const auto found = std::lower_bound(
        unit.pieces.begin(), unit.pieces.end(), piece.first, [&](int32_t held, int64_t first) {
          return schema.pieces[static_cast<size_t>(held)].first < first;
        });
    REPRISE_CHECK(found != unit.pieces.end() && *found == piece.id, "piece {} is not in {}",
                  piece.id, unit.name);
    return unit.firsts[static_cast<size_t>(found - unit.pieces.begin())];
  };
  std::vector<ImportedRun> runs;
  for (const int32_t index : prompt.pieces) {
    const pml::Piece& piece = schema.pieces[static_cast<size_t>(index)];
    const int32_t unit = units[static_cast<size_t>(index)];
    const ImportedRun run{.unit = unit,
                          .first = first_in(encoding.units[static_cast<size_t>(unit)], piece),
                          .tokens = static_cast<int32_t>(piece.tokens.size()),
                          .first_position = static_cast<int32_t>(piece.first)};
    if (!runs.empty() && runs.back().unit == run.unit &&
        runs.back().first + runs.back().tokens == run.first &&
        runs.back().first_position + runs.back().tokens == run.first_position)
      runs.back().tokens += run.tokens;
    else
      runs.push_back(run);
  }
  return runs;
}

}  // namespace reprise::prompt_cache
