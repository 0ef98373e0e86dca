#include "checks/baseline.h"

#include <set>
#include <utility>

#include "core/base/atomic_file.h"
#include "core/base/error.h"
#include "core/base/json.h"
#include "results/results_file.h"

namespace reprise::checks {
namespace {

constexpr const char* kKind = "reprise baseline";

std::vector<double> samples_of(JsonObject& entry, const std::string& key) {
  const Values& values = entry.list(key);
  if (values.empty()) raise("{} must be a list of numbers, at least one", entry.where(key));
  std::vector<double> samples;
  for (const Value& value : values) {
    if (!value.is_number() || value.number() <= 0)
      raise("{} must hold numbers above 0, found {}", entry.where(key), json_text(value));
    samples.push_back(value.number());
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

Fields baseline_json(const Baseline& baseline) {
  Values entries;
  for (const BaselineEntry& entry : baseline.entries)
    entries.push_back(Fields{{"program", entry.program},
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
  const Value json = results::read_results_json(file);
  JsonObject root(json, file.string());
  if (!root.has("kind") || root.at("kind") != Value(kKind))
    raise("{} is no baseline of `reprise check`. Record one: reprise check BIN --record FILE",
          file.string());
  if (root.integer("schema") != kBaselineSchema)
    raise(
        "{} has schema {}, this program reads schema {}. Record it again: reprise check BIN "
        "--record {}",
        file.string(), root.integer("schema"), kBaselineSchema, file.string());
  const Values& list = root.list("benchmarks");
  if (list.empty()) raise("{} must be a list of at least one benchmark", root.where("benchmarks"));
  Baseline baseline{.machine = root.object("machine").fields(),
                    .provenance = root.object("provenance").fields(),
                    .settings = root.object("settings").fields()};
  std::set<std::string> ids;
  for (size_t i = 0; i < list.size(); ++i) {
    JsonObject entry(list[i], file.string(), fmt::format("benchmarks[{}]", i));
    BaselineEntry read = entry_of(entry);
    if (!ids.insert(read.id()).second)
      raise("{} holds {} twice; remove one of the two", root.where("benchmarks"), read.id());
    baseline.entries.push_back(std::move(read));
  }
  root.reject_unknown();
  return baseline;
}

void write_baseline(const Baseline& baseline, const std::filesystem::path& file) {
  std::error_code error;
  if (file.has_parent_path()) std::filesystem::create_directories(file.parent_path(), error);
  AtomicFile out(file);
  out.write(json_text(baseline_json(baseline), 1) + '\n');
  out.commit();
}

}  // namespace reprise::checks
