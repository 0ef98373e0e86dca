#include "checks/baseline.h"

#include "core/base/atomic_file.h"
#include "core/base/error.h"
#include "core/base/value_json.h"
#include "results/results_file.h"

namespace reprise::checks {
namespace {

constexpr const char* kKind = "reprise baseline";

std::vector<double> samples_of(JsonObject& entry, const std::string& key) {
  const Json& values = entry.at(key);
  if (!values.is_array() || values.empty())
    raise("{} must be a list of numbers, at least one", entry.where(key));
  std::vector<double> samples;
  for (const Json& value : values) {
    if (!value.is_number() || value.get<double>() <= 0)
      raise("{} must hold numbers above 0, found {}", entry.where(key), value.dump());
    samples.push_back(value.get<double>());
  }
  return samples;
}

BaselineEntry entry_of(JsonObject& json) {
  BaselineEntry entry{.program = json.string("program"),
                      .name = json.string("name"),
                      .limit = parse_limit(json.string("limit")),
                      .times_s = samples_of(json, "times_s"),
                      .limits = samples_of(json, "limits"),
                      .limit_shares = samples_of(json, "limit_shares")};
  if (entry.times_s.size() != entry.limit_shares.size() ||
      entry.times_s.size() != entry.limits.size())
    raise("{} and its neighbours differ in length: {} times, {} limits, {} shares",
          json.where("times_s"), entry.times_s.size(), entry.limits.size(),
          entry.limit_shares.size());
  json.reject_unknown();
  return entry;
}

}  // namespace

Json baseline_json(const Baseline& baseline) {
  Json entries = Json::array();
  for (const BaselineEntry& entry : baseline.entries)
    entries.push_back({{"program", entry.program},
                       {"name", entry.name},
                       {"limit", name_of(entry.limit)},
                       {"times_s", entry.times_s},
                       {"limits", entry.limits},
                       {"limit_shares", entry.limit_shares}});
  return {{"kind", kKind},
          {"schema", kBaselineSchema},
          {"settings", baseline.settings},
          {"benchmarks", std::move(entries)},
          {"machine", baseline.machine},
          {"provenance", baseline.provenance}};
}

Baseline read_baseline(const std::filesystem::path& file) {
  const Json json = json_of(results::read_results_json(file));
  JsonObject root(json, file.string());
  if (!root.has("kind") || root.json()["kind"] != kKind)
    raise("{} is no baseline of `reprise check`. Record one: reprise check BIN --record FILE",
          file.string());
  if (root.integer("schema") != kBaselineSchema)
    raise(
        "{} has schema {}, this program reads schema {}. Record it again: reprise check BIN "
        "--record {}",
        file.string(), root.integer("schema"), kBaselineSchema, file.string());
  const Json& list = root.at("benchmarks");
  if (!list.is_array() || list.empty())
    raise("{} must be a list of at least one benchmark", root.where("benchmarks"));
  Baseline baseline{.machine = root.object("machine").json(),
                    .provenance = root.object("provenance").json(),
                    .settings = root.object("settings").json()};
  for (size_t i = 0; i < list.size(); ++i) {
    JsonObject entry(list[i], file.string(), fmt::format("benchmarks[{}]", i));
    baseline.entries.push_back(entry_of(entry));
  }
  root.reject_unknown();
  return baseline;
}

void write_baseline(const Baseline& baseline, const std::filesystem::path& file) {
  std::error_code error;
  if (file.has_parent_path()) std::filesystem::create_directories(file.parent_path(), error);
  AtomicFile out(file);
  // a program's name may hold any bytes
  out.write(baseline_json(baseline).dump(1, ' ', false, Json::error_handler_t::replace) + '\n');
  out.commit();
}

}  // namespace reprise::checks
