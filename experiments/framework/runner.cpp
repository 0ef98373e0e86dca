#include "experiments/framework/runner.h"

#include <algorithm>
#include <new>
#include <nlohmann/json.hpp>

#include "core/base/error.h"
#include "results/provenance.h"
#include "results/record.h"
#include "results/store.h"

namespace reprise::experiments {
namespace {

// Limits measured by the run that made the folder serve its continuation too, unless the folder
// moved to another machine.
Json machine_of(const RunOptions& options, const Json& facts, RunObserver& observer) {
  const std::filesystem::path path = options.out / "machine.json";
  if (std::filesystem::exists(path)) {
    const Json saved = read_json(path);
    if (saved.is_object() && saved.value("for", Json()) == facts) return saved["machine"];
  }
  observer.machine_wanted();
  const Json machine = options.measure_machine();
  results::write_file(path, Json{{"for", facts}, {"machine", machine}}.dump(2) + "\n");
  return machine;
}

// What tells one machine from another, cheap enough to look up at each start.
Json facts_of(const RunSettings& settings) {
  const CpuFacts& cpu = cpu_facts();
  return {{"cpu", cpu.model},
          {"cores", cpu.logical_cores},
          {"threads", settings.context.threads},
          {"isa", name_of(settings.context.isa)}};
}

std::vector<Json> records_of(const Experiment& experiment, const Group& group,
                             const std::vector<Measurement>& measurements, const Json& plan,
                             const Json& machine, const std::string& started_at) {
  REPRISE_CHECK(measurements.size() == group.methods.size());
  const Json provenance = results::provenance_json();
  const std::string ended_at = results::utc_now();
  std::vector<Json> records;
  for (size_t i = 0; i < measurements.size(); ++i) {
    const Measurement& measured = measurements[i];
    Json resolved = group.requested[i];
    resolved["method_options"] = group.methods[i].resolved;
    resolved.update(measured.resolved);
    records.push_back({{"schema", results::kSchemaVersion},
                       {"experiment",
                        {{"name", experiment.name},
                         {"kind", experiment.kind.name},
                         {"paper", experiment.paper},
                         {"figure", experiment.figure},
                         {"scale", experiment.scale},
                         {"left_out", plan["left_out"]}}},
                       {"point", group.point_ids[i]},
                       {"group", {{"id", group.id}, {"index", i}, {"of", measurements.size()}}},
                       {"config_hash", plan["config_hash"]},
                       {"settings", {{"requested", group.requested[i]}, {"resolved", resolved}}},
                       {"seeds", group.requested[i]["seeds"]},
                       {"samples", measured.samples},
                       {"metrics", measured.metrics},
                       {"answers", measured.answers},
                       {"memory", measured.memory},
                       {"remarks", results::remarks_on(measured.metrics)},
                       {"machine", machine},
                       {"provenance", provenance},
                       {"started_at", started_at},
                       {"ended_at", ended_at}});
  }
  return records;
}

[[noreturn]] void raise_at(const Group& group, const results::RecordStore& store, int64_t points,
                           const std::string& what) {
  raise("{}: {}\n{} of {} points are safe in {}; the same command goes on from there.", group.label,
        what, store.records().size(), points, store.dir().string());
}

std::vector<Measurement> measure(const Group& group, Kind& kind, const Json& machine,
                                 const results::RecordStore& store, int64_t points,
                                 const std::atomic<bool>& stop) {
  try {
    return kind.measure(group, machine, stop);
  } catch (const Error& error) {
    raise_at(group, store, points, error.what());
  } catch (const std::bad_alloc&) {
    raise_at(group, store, points,
             "the system has no memory left. Take smaller values of the sweep (--set "
             "sweep.prompt_tokens=[...]), a smaller dtype or model.");
  }
}

}  // namespace

void leave_out_missing(Experiment& experiment, const Kind& kind) {
  std::vector<MethodChoice> present;
  for (const MethodChoice& method : experiment.methods) {
    const std::string reason = kind.missing(method);
    if (reason.empty()) {
      present.push_back(method);
    } else if (present.empty()) {
      raise("{} is the first method of experiment {}, which the others are compared with. {}",
            method.name, experiment.name, reason);
    } else {
      experiment.left_out.push_back({method.name, reason});
    }
  }
  experiment.methods = std::move(present);
}

RunOutcome run_experiment(const Experiment& experiment, const RunOptions& options, Kind& kind,
                          RunObserver& observer, const std::atomic<bool>& stop) {
  const std::vector<Group> groups = expand(experiment, options.settings);
  const Json plan = manifest(experiment, options.settings, groups);
  RunOutcome outcome;
  outcome.points = plan["points"];
  for (const Group& group : groups) kind.check(group);

  results::RecordStore store(options.out, plan, options.fresh);
  observer.planned(outcome.points, static_cast<int64_t>(store.records().size()),
                   store.dropped_bytes());
  Json machine;
  for (const Group& group : groups) {
    if (store.has(group.point_ids.front())) continue;
    if (machine.is_null()) machine = machine_of(options, facts_of(options.settings), observer);
    if (stop) {
      outcome.was_interrupted = true;
      break;
    }
    observer.started(group);
    const std::string started_at = results::utc_now();
    try {
      const auto measured = measure(group, kind, machine, store, outcome.points, stop);
      const auto records = records_of(experiment, group, measured, plan, machine, started_at);
      store.append(records);
      observer.finished(group, records);
    } catch (const Interrupted&) {
      outcome.was_interrupted = true;
      break;
    }
  }
  for (const Group& group : groups)
    for (const std::string& point : group.point_ids)
      if (const Json* record = store.find(point)) outcome.records.push_back(*record);
  return outcome;
}

}  // namespace reprise::experiments
