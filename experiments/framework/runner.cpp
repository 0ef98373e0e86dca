#include "experiments/framework/runner.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <new>
#include <span>
#include <thread>
#include <utility>

#include "core/base/error.h"
#include "core/base/json.h"
#include "core/base/visible.h"
#include "core/device/context.h"
#include "core/device/cpu.h"
#include "core/device/fetch_setting.h"
#include "experiments/framework/check_groups.h"
#include "results/folder.h"
#include "results/identity.h"
#include "results/provenance.h"
#include "results/record.h"
#include "results/run_validity.h"
#include "results/store.h"

namespace reprise::experiments {
namespace {

// The file machine.json: a machine's limits, and the facts that identify the machine.
struct KnownMachine {
  Fields facts;
  Machine machine;

  template <typename Self, typename Visitor>
  static void visit(Self& self, Visitor& visitor) {
    visitor.required("for", self.facts);
    visitor.required("machine", self.machine);
  }
};

// Returns the machine that an earlier run stored in the file `path`. If there is no such file, or
// if it has other `facts` (it is from another machine, or from a run with other threads, another
// instruction set or other prefetching), measures the machine and stores it.
Machine machine_of(const RunOptions& options, const std::filesystem::path& path,
                   const Fields& facts, RunObserver& observer) {
  if (!options.fresh_machine && std::filesystem::exists(path)) {
    try {
      KnownMachine saved = read_fields<KnownMachine>(read_json(path));
      if (saved.facts == facts) return std::move(saved.machine);
    } catch (const FieldFault& fault) {
      raise("{}: {}. Delete it, and the machine is measured again.", path.string(), fault.text);
    }
  }
  if (options.measures_limits) observer.machine_wanted();
  KnownMachine measured{.facts = facts, .machine = options.measure_machine()};
  results::write_file(path, json_text(written_fields(measured), /*indent=*/2) + "\n");
  return std::move(measured.machine);
}

// Facts that distinguish machines and are cheap to read at each start.
Fields facts_of(const RunOptions& options) {
  const CpuFacts& cpu = cpu_facts();
  const Context& context = options.settings.context;
  Fields facts = {{"cpu", cpu.model},
                  {"cores", cpu.logical_cores},
                  {"threads", context.threads},
                  {"isa", name_of(context.isa)}};
  if (!options.gpu.empty()) facts["gpu"] = options.gpu;
  // A calibration that was kept must not replace the user's settings, and these must not outlive
  // the variables.
  if (const auto given = given_fetch()) facts["fetch"] = text_of(*given);
  if (const auto given = given_weight_fetch()) facts["weight_fetch"] = text_of(*given);
  return facts;
}

results::Manifest with_identity(results::Manifest manifest, const RunOptions& options) {
  const CpuFacts& cpu = cpu_facts();
  manifest.identity =
      results::identity_fields(cpu.model, cpu.logical_cores, options.sources, options.gpu);
  return manifest;
}

// Returns the fingerprints in `sources` of those files that the group reads.
Fields sources_of_group(const Fields& sources, const Group& group) {
  Fields own;
  if (const Value& model = field_of(field_of(sources, "models"), group.model.model);
      !model.is_null())
    own["model"] = model;
  for (const char* of_all : {"workload", "method_files"})
    if (const Value& files = field_of(sources, of_all); !files.is_null()) own[of_all] = files;
  return own;
}

double gib(double bytes) { return bytes / 0x1p30; }

// A run in progress.
class Run {
 public:
  Run(const Experiment& experiment, const Plan& plan, const RunOptions& options, Kind& kind,
      RunObserver& observer, const std::atomic<bool>& stop)
      : experiment_(experiment),
        options_(options),
        kind_(kind),
        observer_(observer),
        stop_(stop),
        groups_(plan.groups),
        manifest_(with_identity(plan.manifest, options)),
        lacks_(find_lacks()),
        store_(options.out, manifest_, options.fresh, options.shard.writer(), options.mix) {}

  RunOutcome run() {
    std::vector<size_t> todo = own_groups();
    observer_.planned(points_of(todo), present_points_of(todo), store_.dropped_bytes());
    told_ = store_.records().size();
    skip_what_lacks_memory(todo);
    while (!todo.empty() && !is_stopped()) {
      std::vector<size_t> elsewhere = measure_free(todo);
      tell_of_other_ranks();
      // Other processes are measuring all remaining groups. A group becomes free if its process
      // dies.
      if (elsewhere.size() == todo.size()) wait_a_little();
      todo = std::move(elsewhere);
    }
    outcome_.was_interrupted = !todo.empty();
    return finish();
  }

 private:
  // Finds the groups that do not fit into the memory available now, before anything is loaded.
  std::map<size_t, MemoryLack> find_lacks() {
    check_groups(groups_, kind_);
    const auto available = static_cast<double>(options_.available_bytes());
    std::map<size_t, MemoryLack> lacks;
    for (size_t g = 0; g < groups_.size(); ++g) {
      const MemoryNeed need = kind_.memory_need(groups_[g]);
      if (need.bytes > available)
        lacks[g] = {
            .need_bytes = need.bytes, .available_bytes = available, .of_what = need.of_what};
    }
    return lacks;
  }

  [[nodiscard]] std::vector<size_t> own_groups() const {
    std::vector<size_t> own;
    for (size_t g = 0; g < groups_.size(); ++g)
      if (options_.shard.takes(g)) own.push_back(g);
    return own;
  }

  [[nodiscard]] int64_t points_of(const std::vector<size_t>& groups) const {
    int64_t points = 0;
    for (const size_t g : groups) points += std::ssize(groups_[g].point_ids);
    return points;
  }

  [[nodiscard]] int64_t present_points_of(const std::vector<size_t>& groups) const {
    int64_t points = 0;
    for (const size_t g : groups)
      if (is_measured(g)) points += std::ssize(groups_[g].point_ids);
    return points;
  }

  [[nodiscard]] bool is_measured(size_t g) const {
    return store_.has(groups_[g].point_ids.front());
  }

  void skip_what_lacks_memory(std::vector<size_t>& todo) {
    for (const size_t g : todo)
      if (const auto lack = lacks_.find(g); lack != lacks_.end() && !is_measured(g))
        skip(g, lack->second);
    std::erase_if(todo, [&](size_t g) { return lacks_.contains(g); });
    store_.write_skipped(skipped_);
  }

  void skip(size_t g, const MemoryLack& lack) {
    const Group& group = groups_[g];
    for (size_t i = 0; i < group.methods.size(); ++i)
      skipped_.push_back({.point = group.point_ids[i],
                          .group = group.id,
                          .label = group.label,
                          .method = label_of(group.methods[i]),
                          .need_bytes = lack.need_bytes,
                          .available_bytes = lack.available_bytes,
                          .reason = lack.text()});
    observer_.skipped(group, lack);
  }

  // Measures the groups that no other process has claimed, and returns the rest.
  std::vector<size_t> measure_free(const std::vector<size_t>& todo) {
    std::vector<size_t> rest;
    for (size_t i = 0; i < todo.size(); ++i) {
      const size_t g = todo[i];
      if (is_measured(g)) continue;
      if (is_stopped() || !store_.claim(g)) {
        rest.push_back(g);
        continue;
      }
      if (is_measured(g)) {  // another process measured it before the claim
        store_.release(g);
        continue;
      }
      const std::vector<size_t> turns = in_turn_with(todo, i);
      if (!measure(turns)) rest.insert(rest.end(), turns.begin(), turns.end());
      for (const size_t turn : turns) store_.release(turn);
      i += turns.size() - 1;
    }
    return rest;
  }

  // Returns group todo[i], which is claimed already, and the groups to measure in turn with it,
  // which this call claims. These follow it in `todo` and have the same dtype; all groups of a turn
  // together fit into half the memory. Ranks, which claim groups dynamically, take one group at a
  // time.
  [[nodiscard]] std::vector<size_t> in_turn_with(const std::vector<size_t>& todo, size_t i) {
    constexpr size_t kMost = 16;
    std::vector<size_t> turns = {todo[i]};
    if (!experiment_.interleaves_points || options_.shard.is_dynamic) return turns;
    double room = static_cast<double>(options_.available_bytes()) / 2;
    room -= kind_.memory_need(groups_[todo[i]]).bytes;
    while (++i < todo.size() && turns.size() < kMost && !is_measured(todo[i])) {
      const Group& next = groups_[todo[i]];
      room -= kind_.memory_need(next).bytes;
      if (room < 0 || next.dtype != groups_[turns.front()].dtype || !store_.claim(todo[i])) break;
      if (is_measured(todo[i])) {
        store_.release(todo[i]);
        break;
      }
      turns.push_back(todo[i]);
    }
    return turns;
  }

  // Measures the groups in turn and writes their records. Returns false if it was interrupted.
  bool measure(const std::vector<size_t>& turns) {
    const Group& group = groups_[turns.front()];
    if (!machine_)
      machine_ =
          machine_of(options_, store_.own_file("machine", "json"), facts_of(options_), observer_);
    if (stop_) return false;
    observer_.started(group);
    kind_.tell_by([this](const std::string& what) { observer_.doing(what); });
    const std::string started_at = results::utc_now();
    try {
      std::vector<const Group*> groups;
      for (const size_t g : turns) groups.push_back(&groups_[g]);
      const auto measured = kind_.measure_in_turn(groups, *machine_, stop_);
      for (size_t i = 0; i < groups.size(); ++i)
        write(*groups[i], measured.at(i), std::ssize(groups), started_at);
    } catch (const Interrupted&) {
      gave_up_ = true;
      return false;
    } catch (const MemoryError& error) {
      if (turns.size() > 1) return measure_one_by_one(turns);
      skip_refused(turns.front(), error.need_bytes(), error.what());
    } catch (const std::bad_alloc&) {
      if (turns.size() > 1) return measure_one_by_one(turns);
      skip_refused(turns.front(), 0, "the system has no memory left");
    } catch (const Error& error) {
      raise("{}{}: {}\n{} of {} points are safe in {}. {} goes on from there.", group.label,
            turns.size() > 1 ? " to " + groups_[turns.back()].label : "", error.what(),
            store_.records().size(), manifest_.points, store_.dir().string(),
            command_that_goes_on(options_));
    }
    return true;
  }

  bool measure_one_by_one(const std::vector<size_t>& turns) {
    for (const size_t g : turns)
      if (!measure({g})) return false;
    return true;
  }

  void write(const Group& group, const std::vector<Measurement>& measured, int64_t in_turn,
             const std::string& started_at) {
    REPRISE_CHECK(measured.size() == group.methods.size());
    std::vector<results::Record> records;
    for (size_t i = 0; i < measured.size(); ++i)
      records.push_back(record_of(group, i, measured[i], in_turn, started_at));
    tell_of_other_ranks();
    store_.append(records);
    told_ = store_.records().size();
    outcome_.measured += std::ssize(records);
    observer_.finished(group, records);
  }

  // Reports to the observer the groups that other ranks have finished since the last report.
  void tell_of_other_ranks() {
    if (!options_.shard.is_dynamic) return;
    const std::span<const results::Record> added =
        std::span(store_.records()).subspan(std::exchange(told_, store_.records().size()));
    for (auto first = added.begin(); first != added.end();) {
      const auto last = std::find_if(first, added.end(), [&](const auto& record) {
        return record.group.id != first->group.id;
      });
      const auto group = std::find_if(groups_.begin(), groups_.end(), [&](const Group& candidate) {
        return candidate.id == first->group.id;
      });
      if (group != groups_.end()) observer_.finished(*group, {first, last});
      first = last;
    }
  }

  // The record of the group's i-th point.
  [[nodiscard]] results::Record record_of(const Group& group, size_t i, const Measurement& measured,
                                          int64_t in_turn, const std::string& started_at) const {
    results::Record record{
        .experiment = {.name = experiment_.name,
                       .kind = experiment_.kind.name,
                       .paper = experiment_.paper,
                       .figure = experiment_.figure,
                       .scale = experiment_.scale,
                       .left_out = manifest_.left_out},
        .point = group.point_ids[i],
        .group = {.id = group.id,
                  .index = static_cast<int64_t>(i),
                  .of = std::ssize(group.methods)},
        .config_hash = manifest_.config_hash,
        .settings = {.requested = group.requested[i], .resolved = resolved_of(group, i, measured)},
        .samples = measured.samples,
        .metrics = measured.metrics,
        .answers = measured.answers,
        .memory = measured.memory,
        .core_use = measured.core_use,
        .remarks = remarks_on(measured),
        .machine = *machine_,
        .provenance = results::provenance(),
        .sources = sources_of_group(options_.sources, group),
        .started_at = started_at,
        .ended_at = results::utc_now(),
        .writer = options_.shard.writer()};
    FieldReader::read(field_of(group.requested[i], "seeds"), "seeds", record.seeds);
    if (experiment_.interleaves_points) record.settings.resolved["points_in_turn"] = in_turn;
    return record;
  }

  [[nodiscard]] static Fields resolved_of(const Group& group, size_t i,
                                          const Measurement& measured) {
    Fields resolved = group.requested[i];
    resolved["method_options"] = group.methods[i].resolved;
    if (!group.methods[i].label.empty()) resolved["method_label"] = group.methods[i].label;
    update(resolved, measured.resolved);
    return resolved;
  }

  [[nodiscard]] std::vector<std::string> remarks_on(const Measurement& measured) const {
    std::vector<std::string> remarks = results::remarks_on(measured.metrics);
    if (const std::string invalid = results::invalid_remark(measured.answers); !invalid.empty())
      remarks.insert(remarks.begin(), invalid);
    for (const std::string& reservation : results::run_reservations(measured.answers))
      remarks.push_back(reservation);
    if (!store_.difference().empty())
      remarks.push_back("mixed with results of another run: " + store_.difference());
    return remarks;
  }

  // Skips a group that seemed to fit but did not.
  void skip_refused(size_t g, double refused_bytes, const std::string& what) {
    const double need = kind_.memory_need(groups_[g]).bytes;
    MemoryLack lack{.need_bytes = std::max(need, refused_bytes), .of_what = what};
    if (const int64_t bytes = options_.available_bytes(); bytes < kUnknownBytes)
      lack.available_bytes = static_cast<double>(bytes);
    skip(g, lack);
    store_.write_skipped(skipped_);
  }

  static void wait_a_little() { std::this_thread::sleep_for(std::chrono::milliseconds(50)); }

  RunOutcome finish() {
    store_.refresh();
    outcome_.points = manifest_.points;
    for (const Group& group : groups_)
      for (const std::string& point : group.point_ids)
        if (const results::Record* record = store_.find(point)) outcome_.records.push_back(*record);
    results::take_labels(manifest_, outcome_.records);
    outcome_.skipped = results::read_skipped(options_.out);
    return std::move(outcome_);
  }

  [[nodiscard]] bool is_stopped() const { return stop_ || gave_up_; }

  const Experiment& experiment_;
  const RunOptions& options_;
  Kind& kind_;
  RunObserver& observer_;
  const std::atomic<bool>& stop_;
  const std::vector<Group>& groups_;
  results::Manifest manifest_;
  std::map<size_t, MemoryLack> lacks_;  // key: group index
  results::RecordStore store_;
  std::optional<Machine> machine_;
  std::vector<results::SkippedPoint> skipped_;  // skipped by this process
  size_t told_ = 0;  // number of the store's records reported to the observer
  RunOutcome outcome_;
  bool gave_up_ = false;
};

// A manifest has no line breaks in its texts. What a peer's program printed may have some.
std::string in_one_line(const std::string& text) {
  std::string line;
  for (const char c : visible(text, "\n"))
    if (c != '\n')
      line += c;
    else if (!line.empty() && line.back() != ' ')
      line += ' ';
  return line;
}

}  // namespace

void leave_out_missing(Experiment& experiment, const Kind& kind) {
  std::vector<MethodChoice> present;
  for (const MethodChoice& method : experiment.methods) {
    const std::string reason = kind.missing(method);
    if (reason.empty()) {
      present.push_back(method);
    } else if (present.empty()) {
      raise("{} comes first in experiment {}, and the others are compared with it. {}", method.name,
            experiment.name, reason);
    } else {
      experiment.left_out.push_back({method.name, in_one_line(reason)});
    }
  }
  experiment.methods = std::move(present);
}

std::string MemoryLack::text() const {
  const std::string need = fmt::format("needs {:.2f} GiB ({})", gib(need_bytes), of_what);
  return available_bytes ? fmt::format("{}, {:.2f} GiB are available", need, gib(*available_bytes))
                         : need;
}

RunOutcome run_experiment(const Experiment& experiment, const Plan& plan, const RunOptions& options,
                          Kind& kind, RunObserver& observer, const std::atomic<bool>& stop) {
  return Run(experiment, plan, options, kind, observer, stop).run();
}

}  // namespace reprise::experiments
