#include "app/report/differences.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "app/record_columns.h"
#include "experiments/framework/kind.h"
#include "results/identity.h"
#include "results/statistics.h"
#include "results/table.h"

namespace reprise::app {
namespace {

using results::Record;
using results::ResultsFolder;

// Returns the text that `fn` returns for the folder's records. If texts are different, joins them.
std::string said(const ResultsFolder& folder, const std::function<std::string(const Record&)>& fn) {
  std::set<std::string> texts;
  for (const Record& record : folder.records) texts.insert(fn(record));
  return fmt::format("{}", fmt::join(texts, " and "));
}

// Returns the first methods of the folder's groups, over which the ratios of other methods are; ""
// if no group has several methods.
std::string first_methods(const ResultsFolder& folder) {
  std::set<std::string> first;
  for (const Record& record : folder.records)
    if (record.group.of > 1 && record.group.index == 0)
      first.insert(experiments::label_of(experiments::method_of(record)));
  return fmt::format("{}", fmt::join(first, " and "));
}

// Returns the requested settings that are not axes, and the scale and the axes with their values.
Fields asked_for(const ResultsFolder& folder) {
  const results::PlannedSettings& settings = folder.run.settings;
  Fields asked;
  for (const Record& record : folder.records)
    for (const auto& [name, value] : record.settings.requested)
      if (!settings.axes.contains(name) && name != "method" && name != "method_options")
        asked[name] = "";
  for (auto& [name, value] : asked) {
    const Value& first = folder.records.front().requested(name);
    const bool is_of_all = std::all_of(
        folder.records.begin(), folder.records.end(),
        [&, &key = name](const Record& record) { return record.requested(key) == first; });
    value = is_of_all ? first : Value(said(folder, [&, &key = name](const Record& record) {
      return setting_text(record, key);
    }));
  }
  asked["scale"] = settings.scale;
  asked["axes"] = FieldWriter::written(settings.axes);
  asked["compared with"] = first_methods(folder);
  asked["interleave"] = settings.interleave;
  return asked;
}

std::string known(const std::string& text) { return text.empty() ? "unknown" : text; }

Fields code_of(const ResultsFolder& folder) {
  const auto made = [&](std::string results::Provenance::*part) {
    return said(folder, [part](const Record& record) { return known(record.provenance.*part); });
  };
  const std::string modified = said(folder, [](const Record& record) {
    const results::Provenance& code = record.provenance;
    if (!code.is_dirty) return std::string("no");
    return code.changes.empty() ? std::string("yes") : code.changes;
  });
  Fields libraries;
  for (const Record& record : folder.records)
    for (const auto& [name, version] : record.provenance.libraries) libraries[name] = "";
  for (auto& [name, version] : libraries)
    version = said(folder, [&key = name](const Record& record) {
      const Value& linked = field_of(record.provenance.libraries, key);
      return linked.is_null() ? std::string("none") : cell_text(linked);
    });
  return {
      {"code", Fields{{"revision", made(&results::Provenance::revision)}, {"modified", modified}}},
      {"compiler", made(&results::Provenance::compiler)},
      {"flags", made(&results::Provenance::flags)},
      {"library", libraries}};
}

Fields machine_of(const ResultsFolder& folder) {
  return {
      {"GPU", said(folder,
                   [](const Record& record) {
                     const auto& gpu = record.machine.device;
                     return gpu ? known(gpu->name) : "none";
                   })},
      {"processor", said(folder, [](const Record& record) { return known(record.machine.cpu); })},
      {"logical cores",
       said(folder, [](const Record& record) { return shown(record.machine.logical_cores); })}};
}

// The median of each limit over the records, which may come from several machines.
std::map<std::string, double> limits_of(const ResultsFolder& folder) {
  std::map<std::string, std::vector<double>> all;
  for (const Record& record : folder.records)
    for (const auto& [name, limit] : results::measured_limits(record.machine))
      all[name].push_back(limit);
  std::map<std::string, double> medians;
  for (const auto& [name, values] : all) medians[name] = results::summarize(values).median;
  return medians;
}

std::string limits_that_moved(const ResultsFolder& before, const ResultsFolder& after) {
  constexpr double kMoved = 1.1;
  const std::map<std::string, double> was = limits_of(before);
  std::string text;
  for (const auto& [name, limit] : limits_of(after)) {
    const auto found = was.find(name);
    if (found == was.end() || name.ends_with("probe_s")) continue;
    if (limit <= kMoved * found->second && found->second <= kMoved * limit) continue;
    text += fmt::format("{}{} {}, was {}", text.empty() ? "" : "; ", name,
                        results::short_number(limit), results::short_number(found->second));
  }
  return text;
}

// Fingerprints of files, as the records' sources have them.
struct Files {
  Fields models;  // by the model's name
  Fields others;  // of the workload and of the methods' options
};

Files files_of(const ResultsFolder& folder) {
  Files files;
  for (const Record& record : folder.records)
    for (const auto& [name, found] : record.sources.value_or(Fields()))
      if (name == "model")
        files.models.emplace(text_of(record.settings.requested, "model"), found);
      else
        files.others.emplace(name, found);
  return files;
}

void keep_shared(Fields& one, Fields& other) {
  std::erase_if(one, [&](const auto& field) { return !other.contains(field.first); });
  std::erase_if(other, [&](const auto& field) { return !one.contains(field.first); });
}

// Compares the files of which both folders have fingerprints: older records have none, and a model
// that only one folder names is a difference of the settings.
std::string files_text(const ResultsFolder& before, const ResultsFolder& after) {
  Files was = files_of(before), is = files_of(after);
  keep_shared(was.models, is.models);
  keep_shared(was.others, is.others);
  is.others["models"] = is.models;
  was.others["models"] = was.models;
  return results::difference_text({{"sources", is.others}}, {{"sources", was.others}});
}

}  // namespace

std::vector<std::string> differences_between(const ResultsFolder& before,
                                             const ResultsFolder& after) {
  std::vector<std::string> sentences;
  const auto say = [&](const char* what, const std::string& text) {
    if (!text.empty()) sentences.push_back(fmt::format("{}: {}.", what, text));
  };
  Fields was = asked_for(before), is = asked_for(after);
  for (const char* name : {"compared with", "interleave"})  // not in every folder
    if (was.at(name).text().empty() || is.at(name).text().empty()) {
      was.erase(name);
      is.erase(name);
    }
  say("Settings", results::difference_text(is, was));
  say("Code", results::difference_text(code_of(after), code_of(before)));
  say("Machine", results::difference_text(machine_of(after), machine_of(before)));
  say("The machine's measured limits", limits_that_moved(before, after));
  say("Files", files_text(before, after));
  return sentences;
}

}  // namespace reprise::app
