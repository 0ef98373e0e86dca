#include "results/folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <sstream>

#include "core/base/error.h"
#include "core/base/json.h"
#include "results/manifest.h"
#include "results/results_file.h"
#include "results/store.h"

namespace reprise::results {
namespace {

std::string method_label(const PlannedMethod& method) {
  return method.options.empty() ? method.name : method.name + " " + json_text(method.options);
}

// The places of a sweep: all combinations of models, dtypes and the axes' values, but not of
// methods. If the sweep has cases, each of them gives its axes one value.
class Places {
 public:
  explicit Places(const PlannedSettings& settings)
      : axes_(settings.axes),
        cases_(settings.cases),
        models_(settings.models),
        dtypes_(settings.dtypes) {
    if (cases_.empty()) cases_.emplace_back();
    if (models_.empty()) models_.emplace_back();
    if (dtypes_.empty()) dtypes_.emplace_back();
  }

  // Calls fn(requested settings without the method, label) for each place.
  template <typename Fn>
  void each(Fn&& fn) const {
    for (const PlannedModel& model : models_)
      for (const std::string& dtype : dtypes_) {
        Fields requested = {{"dtype", dtype}};
        if (!model.model.empty()) update(requested, written_fields(model));
        const bool has_other_weights =
            std::any_of(models_.begin(), models_.end(), [&](const PlannedModel& other) {
              return other.model == model.model && other.weights != model.weights;
            });
        const std::string label = model.model + (model.model.empty() ? "" : " ") +
                                  (has_other_weights ? model.weights + " " : "") + dtype +
                                  (model.weight_format.empty() ? "" : " ") + model.weight_format;
        for (const Fields& one_case : cases_)
          if (is_case_of(one_case, model, dtype) && has_values_of(one_case))
            descend(axes_.begin(), one_case, requested, label, fn);
      }
  }

 private:
  using Axes = std::map<std::string, Values>;

  template <typename Fn>
  void descend(Axes::const_iterator axis, const Fields& one_case, const Fields& requested,
               const std::string& label, Fn& fn) const {
    if (axis == axes_.end()) {
      fn(requested, label);
      return;
    }
    const auto& [name, all] = *axis;
    const auto fixed = one_case.find(name);
    for (const Value& value : fixed == one_case.end() ? all : Values{fixed->second}) {
      Fields more = requested;
      more[name] = value;
      const std::string text = value.is_text() ? value.text() : shown(value);
      descend(std::next(axis), one_case, more,
              all.size() > 1 ? fmt::format("{} {}={}", label, name, text) : label, fn);
    }
  }

  // True if the axes have the case's values. Records alone have fewer values than their
  // experiment's cases.
  [[nodiscard]] bool has_values_of(const Fields& one_case) const {
    return std::all_of(axes_.begin(), axes_.end(), [&](const auto& axis) {
      const auto& [name, values] = axis;
      const auto fixed = one_case.find(name);
      return fixed == one_case.end() ||
             std::find(values.begin(), values.end(), fixed->second) != values.end();
    });
  }

  const Axes& axes_;
  std::vector<Fields> cases_;
  std::vector<PlannedModel> models_;
  std::vector<std::string> dtypes_;
};

// Returns the words of a label in alphabetical order, to compare labels whose axes are in different
// orders: those of skipped points follow the kind, those of places the manifest.
std::string sorted_words(const std::string& label) {
  std::istringstream stream(label);
  std::vector<std::string> words{std::istream_iterator<std::string>(stream), {}};
  std::sort(words.begin(), words.end());
  return fmt::format("{}", fmt::join(words, " "));
}

Value value_or(const Fields& fields, const std::string& name, Value fallback) {
  const auto found = fields.find(name);
  return found == fields.end() ? fallback : found->second;
}

}  // namespace

std::string point_key(const Fields& requested, const std::map<std::string, Values>& axes) {
  Values key = {value_or(requested, "model", ""),
                value_or(requested, "weights", ""),
                value_or(requested, "weight_format", "plain"),
                value_or(requested, "dtype", ""),
                value_or(requested, "method", ""),
                value_or(requested, "method_options", Fields())};
  // A record that is older than an axis lacks this setting. It has the axis' default value, which
  // is the only value in a sweep that does not vary the axis.
  for (const auto& [axis, values] : axes)
    key.push_back(value_or(requested, axis, values.size() == 1 ? values[0] : Value()));
  return json_text(key);
}

void take_labels(const Manifest& run, std::vector<Record>& records) {
  if (!run.labels) return;
  std::map<std::string, std::string> labels;
  for (size_t i = 0; i < std::min(run.labels->size(), run.settings.methods.size()); ++i)
    labels[method_label(run.settings.methods[i])] = run.labels->at(i);
  for (Record& record : records) {
    const Value& options = record.requested("method_options");
    const auto label =
        labels.find(method_label({.name = text_of(record.settings.requested, "method"),
                                  .options = options.is_fields() ? options.fields() : Fields()}));
    if (label == labels.end()) continue;
    if (label->second.empty())
      record.settings.resolved.erase("method_label");
    else
      record.settings.resolved["method_label"] = label->second;
  }
}

ResultsFolder read_folder(const std::filesystem::path& dir) {
  namespace fs = std::filesystem;
  std::error_code error;
  if (!fs::is_directory(dir, error))
    raise(
        "{} {}; give the one that `reprise run` wrote (its --out), or a "
        "records.jsonl",
        dir.string(),
        fs::exists(dir, error) ? "is neither a folder nor a file (a pipe or a device)"
                               : "does not exist");
  const std::vector<fs::path> files = record_files(dir);
  ResultsFolder folder{
      .source = dir.string(), .run = {}, .records = {}, .skipped = read_skipped(dir)};
  const fs::path manifest = dir / "run.json";
  if (!fs::exists(manifest, error))
    raise(
        "{} has records but no run.json, so nobody knows what was planned. Copy the run.json of "
        "the run into it, or draw one of its files of records: reprise plot {} --out DIR",
        dir.string(), files.front().string());
  folder.run = read_manifest(read_results_json(manifest), manifest.string());
  check_manifest(folder.run, manifest.string());
  WholeRecords whole = read_record_files(files, folder.run.config_hash);
  folder.records = std::move(whole.records);
  folder.torn_bytes = whole.torn_bytes;
  take_labels(folder.run, folder.records);
  if (folder.records.empty() && !folder.skipped.empty())
    raise(
        "{} holds no record, since its run skipped {} of its points ({}: {}); measure them on a "
        "machine with more memory, or smaller ones",
        dir.string(), folder.skipped.size(), folder.skipped.front().label,
        folder.skipped.front().reason);
  if (folder.records.empty())
    raise("{} holds no complete record yet; finish its run first", dir.string());
  return folder;
}

std::vector<MissingPoints> missing_points(const ResultsFolder& folder) {
  const PlannedSettings& settings = folder.run.settings;
  std::set<std::string> measured, skipped;
  for (const Record& record : folder.records)
    measured.insert(point_key(record.settings.requested, settings.axes));
  for (const SkippedPoint& point : folder.skipped)
    skipped.insert(sorted_words(point.label) + " " + point.method);
  std::vector<MissingPoints> missing;
  Places(settings).each([&](const Fields& place, const std::string& label) {
    MissingPoints here{.label = label, .methods = {}};
    const std::string words = sorted_words(label);
    for (const PlannedMethod& method : settings.methods) {
      Fields requested = place;
      requested["method"] = method.name;
      requested["method_options"] = method.options;
      if (!measured.contains(point_key(requested, settings.axes)) &&
          !skipped.contains(words + " " + method_label(method)))
        here.methods.push_back(method_label(method));
    }
    if (!here.methods.empty()) missing.push_back(std::move(here));
  });
  return missing;
}

}  // namespace reprise::results
