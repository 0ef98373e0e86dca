#include "methods/prompt_cache/pml/prompt.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "core/base/error.h"
#include "methods/prompt_cache/pml/references.h"
#include "methods/prompt_cache/pml/text_run.h"

namespace reprise::pml {
namespace {

struct Extent {
  int64_t first = 0, end = 0;
};

class Compiler {
 public:
  Compiler(const Prompt& prompt, const CompiledSchema& schema, const TextEncoder& encoder,
           int64_t max_positions)
      : prompt_(prompt),
        schema_(schema),
        encoder_(encoder),
        max_positions_(max_positions),
        report_(prompt.file),
        is_coded_(schema.rules == Rules::kAsCoded),
        template_(turn_template(schema.chat_template, schema.rules)) {}

  CompiledPrompt compile() {
    resolved_ = resolve(prompt_, schema_, report_);
    report_.raise_if_any();
    out_.file = prompt_.file;
    modules();
    for (const GivenArgument& argument : resolved_.arguments) place_argument(argument);
    texts();
    choose_scaffolds();
    finish();
    report_.raise_if_any();
    return std::move(out_);
  }

 private:
  const CompiledModule& module(int32_t id) const {
    return schema_.modules[static_cast<size_t>(id)];
  }

  void modules() {
    for (const auto& [id, place] : resolved_.modules) {
      out_.modules.push_back(id);
      if (module(id).parent == 0 && module(id).length() > 0)
        taken_.push_back({module(id).first, module(id).end});
      for (const int32_t index : module(id).pieces) import_piece(index, place);
    }
    std::sort(taken_.begin(), taken_.end(),
              [](const Extent& a, const Extent& b) { return a.first < b.first; });
  }

  void import_piece(int32_t index, Place place) {
    const Piece& piece = schema_.pieces[static_cast<size_t>(index)];
    if (piece.parameter >= 0) return;  // the states of placeholders are never imported
    if (piece.module == 0) taken_.push_back({piece.first, piece.end()});
    if (module(piece.module).is_cached || is_coded_) {
      out_.pieces.push_back(index);
      return;
    }
    add({.kind = NewKind::kUncached,
         .piece = index,
         .place = place,
         .first = piece.first,
         .tokens = piece.tokens});
  }

  void add(NewRun run) { out_.new_runs.push_back(std::move(run)); }

  void place_argument(const GivenArgument& argument) {
    const CompiledParameter& parameter =
        schema_.parameters[static_cast<size_t>(argument.parameter)];
    const bool adds_space =
        parameter.begins_with_space && !argument.value.empty() && argument.value.front() != ' ';
    const std::string text = adds_space ? " " + argument.value : argument.value;
    std::vector<int32_t> tokens;
    if (!text.empty()) tokens = encoder_.encode(text);
    const auto count = static_cast<int64_t>(tokens.size());
    if (count > parameter.length) {
      report_.add(
          argument.place,
          fmt::format("argument \"{}\" takes {} tokens, and the parameter holds {} ({}); "
                      "shorten it, or raise the length",
                      parameter.name, count, parameter.length, at(schema_.file, parameter.place)));
      return;
    }
    if (count > 0)
      add({.kind = NewKind::kArgument,
           .parameter = argument.parameter,
           .place = argument.place,
           .first = parameter.first,
           .tokens = std::move(tokens)});
  }

  // Places the prompt's texts between and behind the imports.
  void texts() {
    TextRun run(template_, encoder_, schema_.rules, /*is_of_prompt=*/true);
    const bool is_beginning = schema_.length == 0;  // nothing precedes the prompt's text
    std::optional<int32_t> before;
    for (const auto& part : resolved_.sequence) {
      if (const auto* text = std::get_if<Text>(&part)) {
        run.add(*text);
      } else if (const auto* marker = std::get_if<TurnMarker>(&part)) {
        run.add_marker(marker->role, marker->part, marker->place);
      } else {
        const int32_t next = std::get<TopImport>(part).module;
        place_between(run.finish(is_beginning), before, next);
        before = next;
      }
    }
    TextRun::Tokens last = run.finish(is_beginning);
    if (!last.ids.empty())
      add({.place = last.place, .first = schema_.length, .tokens = std::move(last.ids)});
  }

  void place_between(TextRun::Tokens text, std::optional<int32_t> before, int32_t next) {
    if (text.ids.empty()) return;
    if (is_coded_) {  // only white space is allowed; the released code drops it
      if (!text.is_blank)
        report_.add(text.place,
                    "the released code refuses text before the first import, and may drop text "
                    "between imports; put it behind the last one, or lay the prompt out by PML's "
                    "own rules");
      return;
    }
    Extent room = before ? room_behind(module(*before).end) : room_before(module(next).first);
    keep_off_placed(room);
    const auto count = static_cast<int64_t>(text.ids.size());
    if (count > room.end - room.first) {
      report_.add(
          text.place,
          fmt::format("the text {} \"{}\" takes {} tokens, and {} positions are free there; put "
                      "it behind the last import, shorten it, or make room in the schema with "
                      "<gap len=\"{}\"/>",
                      before ? "behind" : "before", module(before ? *before : next).path, count,
                      room.end - room.first, count));
      return;
    }
    placed_.emplace(room.first, room.first + count);
    add({.place = text.place, .first = room.first, .tokens = std::move(text.ids)});
  }

  // Returns the free positions from `first` up to the next taken position, or up to the schema's
  // end.
  Extent room_behind(int64_t first) const {
    const auto next =
        std::lower_bound(taken_.begin(), taken_.end(), first,
                         [](const Extent& taken, int64_t at) { return taken.first < at; });
    return {first, next == taken_.end() ? schema_.length : next->first};
  }
  // Returns the free positions between the last taken position before `end` and `end`.
  Extent room_before(int64_t end) const {
    Extent room = {0, end};
    for (const Extent& taken : taken_)
      if (taken.end <= end) room.first = std::max(room.first, taken.end);
    return room;
  }

  // Shrinks `room` so that it begins behind the texts already placed at its start and ends before
  // the next placed text.
  void keep_off_placed(Extent& room) const {
    auto next = placed_.upper_bound(room.first);
    if (next != placed_.begin()) room.first = std::max(room.first, std::prev(next)->second);
    while (next != placed_.end() && next->first <= room.first) room.first = (next++)->second;
    if (next != placed_.end()) room.end = std::min(room.end, next->first);
  }

  void choose_scaffolds() {
    std::vector<const CompiledScaffold*> complete;
    for (const CompiledScaffold& scaffold : schema_.scaffolds)
      if (std::all_of(scaffold.modules.begin(), scaffold.modules.end(),
                      [&](int32_t id) { return resolved_.modules.contains(id); }))
        complete.push_back(&scaffold);
    std::stable_sort(complete.begin(), complete.end(), [](const auto* a, const auto* b) {
      return a->modules.size() > b->modules.size();
    });
    std::set<int32_t> overridden;
    for (const CompiledScaffold* scaffold : complete) {
      if (std::any_of(scaffold->modules.begin(), scaffold->modules.end(),
                      [&](int32_t id) { return overridden.contains(id); }))
        continue;
      overridden.insert(scaffold->modules.begin(), scaffold->modules.end());
      out_.scaffolds.push_back(scaffold->id);
    }
  }

  void finish() {
    std::stable_sort(out_.pieces.begin(), out_.pieces.end(), [&](int32_t a, int32_t b) {
      return schema_.pieces[static_cast<size_t>(a)].first <
             schema_.pieces[static_cast<size_t>(b)].first;
    });
    std::stable_sort(out_.new_runs.begin(), out_.new_runs.end(),
                     [&](const NewRun& a, const NewRun& b) {
                       if (!is_coded_) return a.first < b.first;
                       return a.kind == NewKind::kArgument && b.kind != NewKind::kArgument;
                     });
    for (const int32_t id : out_.pieces) {
      const Piece& piece = schema_.pieces[static_cast<size_t>(id)];
      out_.cached_tokens += static_cast<int64_t>(piece.tokens.size());
      out_.end = std::max(out_.end, piece.end());
    }
    for (const NewRun& run : out_.new_runs) {
      out_.new_tokens += static_cast<int64_t>(run.tokens.size());
      require_position(run);
      out_.end = std::max(out_.end, run.end());
    }
    if (out_.new_tokens == 0 && report_.is_empty())
      report_.add(prompt_.place,
                  "the prompt brings no text of its own, and a model answers new tokens "
                  "only; put a text behind the imports");
  }

  void require_position(const NewRun& run) {
    if (max_positions_ > 0 && run.end() > max_positions_ && out_.end <= max_positions_)
      report_.add(
          run.place,
          fmt::format("the prompt takes {} positions up to here, and the model has {}; shorten "
                      "the text, or the schema",
                      run.end(), max_positions_));
  }

  const Prompt& prompt_;
  const CompiledSchema& schema_;
  const TextEncoder& encoder_;
  int64_t max_positions_;
  Report report_;
  bool is_coded_;
  const TurnTemplate& template_;
  ResolvedPrompt resolved_;
  CompiledPrompt out_;
  std::vector<Extent> taken_;          // of outermost imports and the schema's own texts, sorted
  std::map<int64_t, int64_t> placed_;  // first position to end of the texts between imports
};

}  // namespace

CompiledPrompt compile_prompt(const Prompt& prompt, const CompiledSchema& schema,
                              const TextEncoder& encoder, int64_t max_positions) {
  return Compiler(prompt, schema, encoder, max_positions).compile();
}

void check_references(const Prompt& prompt, const CompiledSchema& schema) {
  Report report(prompt.file);
  (void)resolve(prompt, schema, report);
  report.raise_if_any();
}

}  // namespace reprise::pml
