#include "results/folder.h"

#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "core/base/error.h"
#include "results/manifest.h"
#include "results/results_file.h"
#include "results/store.h"

namespace reprise::results {
namespace {

std::string method_label(const Json& method) {
  const std::string name = method["name"];
  return method["options"].empty() ? name : name + " " + method["options"].dump();
}

// The places of a sweep: every combination of the settings' lists except the methods.
class Places {
 public:
  explicit Places(const Json& settings) : axes_(settings["axes"]) {
    models_ = settings["models"].empty() ? Json::array({Json{{"model", ""}, {"weights", ""}}})
                                         : settings["models"];
    dtypes_ = settings["dtypes"].empty() ? Json::array({""}) : settings["dtypes"];
  }

  // Calls fn(requested settings without the method, label) for each place.
  template <typename Fn>
  void each(Fn&& fn) const {
    for (const Json& model : models_)
      for (const Json& dtype : dtypes_) {
        Json requested = {{"dtype", dtype}};
        const std::string name = model["model"];
        if (!name.empty()) requested.update(model);
        const std::string format = model.value("weight_format", "");
        descend(axes_.begin(), requested,
                name + (name.empty() ? "" : " ") + dtype.get<std::string>() +
                    (format.empty() ? "" : " ") + format,
                fn);
      }
  }

 private:
  template <typename Fn>
  void descend(Json::const_iterator axis, const Json& requested, const std::string& label,
               Fn& fn) const {
    if (axis == axes_.end()) return fn(requested, label);
    for (const Json& value : *axis) {
      Json more = requested;
      more[axis.key()] = value;
      const std::string text = value.is_string() ? value.get<std::string>() : value.dump();
      descend(std::next(axis), more,
              axis->size() > 1 ? fmt::format("{} {}={}", label, axis.key(), text) : label, fn);
    }
  }

  const Json& axes_;
  Json models_, dtypes_;
};

}  // namespace

std::string point_key(const Json& requested, const Json& axes) {
  Json key = {requested.value("model", Json("")),
              requested.value("weights", Json("")),
              requested.value("weight_format", Json("plain")),
              requested.value("dtype", Json("")),
              requested.value("method", Json("")),
              requested.value("method_options", Json::object())};
  // A record older than an axis has the axis' default, the only value of a sweep without that axis.
  for (const auto& [axis, values] : axes.items())
    key.push_back(requested.value(axis, values.size() == 1 ? values[0] : Json()));
  return key.dump();
}

ResultsFolder read_folder(const std::filesystem::path& dir) {
  namespace fs = std::filesystem;
  std::error_code error;
  if (!fs::is_directory(dir, error))
    raise(
        "there is no folder {}; give the one that `reprise run` wrote (its --out), or a "
        "records.jsonl",
        dir.string());
  WholeRecords whole = read_record_files(record_files(dir));
  ResultsFolder folder{.source = dir.string(),
                       .run = {},
                       .records = std::move(whole.records),
                       .skipped = read_skipped(dir),
                       .torn_bytes = whole.torn_bytes};
  const fs::path manifest = dir / "run.json";
  if (!fs::exists(manifest, error))
    raise(
        "{} has records but no run.json, so nobody knows what was planned. Draw one of its files "
        "of records instead: reprise plot {} --out DIR",
        dir.string(), (dir / "records.jsonl").string());
  folder.run = checked_manifest(read_results_json(manifest), manifest.string());
  if (folder.records.empty())
    raise("{} holds no complete record yet; finish its run first", dir.string());
  return folder;
}

std::vector<MissingPoints> missing_points(const ResultsFolder& folder) {
  const Json& settings = folder.run["settings"];
  std::set<std::string> measured, skipped;
  for (const Json& record : folder.records)
    measured.insert(point_key(record["settings"]["requested"], settings["axes"]));
  for (const Json& point : folder.skipped)
    skipped.insert(point["label"].get<std::string>() + " " + point["method"].get<std::string>());
  std::vector<MissingPoints> missing;
  Places(settings).each([&](const Json& place, const std::string& label) {
    MissingPoints here{.label = label, .methods = {}};
    for (const Json& method : settings["methods"]) {
      Json requested = place;
      requested["method"] = method["name"];
      requested["method_options"] = method["options"];
      if (!measured.contains(point_key(requested, settings["axes"])) &&
          !skipped.contains(label + " " + method_label(method)))
        here.methods.push_back(method_label(method));
    }
    if (!here.methods.empty()) missing.push_back(std::move(here));
  });
  return missing;
}

}  // namespace reprise::results
