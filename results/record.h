// A record: one line of records.jsonl, with everything needed to read one measured point. visit()
// is the schema; the comments say what its fields mean.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/base/fields.h"
#include "core/device/machine.h"
#include "results/metric.h"
#include "results/provenance.h"

namespace reprise::results {

// Version of the records' format, raised whenever a program that knows only older records would
// misunderstand new ones. Version 2 added run entries (results/run_entry.h).
inline constexpr int kSchemaVersion = 2;
inline constexpr int kOldestSchemaVersion = 1;  // the oldest version that can be read

// A method that the program could not run.
struct LeftOut {
  std::string method, reason;

  template <typename Self, typename Visitor>
  static void visit(Self& self, Visitor& visitor) {
    visitor.required("method", self.method);
    visitor.required("reason", self.reason);
  }
};

// The experiment that planned a point.
struct Origin {
  std::string name, kind, paper, figure, scale;
  std::vector<LeftOut> left_out;

  template <typename Self, typename Visitor>
  static void visit(Self& self, Visitor& visitor) {
    visitor.required("name", self.name);
    visitor.required("kind", self.kind);
    visitor.defaulted("paper", self.paper);
    visitor.defaulted("figure", self.figure);
    visitor.defaulted("scale", self.scale);
    visitor.defaulted("left_out", self.left_out);
  }
};

// A record's place among points that are measured interleaved and written together.
struct GroupPlace {
  std::string id;
  int64_t index = 0, of = 1;

  template <typename Self, typename Visitor>
  static void visit(Self& self, Visitor& visitor) {
    visitor.name("id", self.id);
    visitor.required("index", self.index);
    visitor.required("of", self.of);
  }
};

// The axes, model, method and options of a point: as the experiment requested them, and as the run
// resolved them.
struct PointSettings {
  Fields requested, resolved;

  template <typename Self, typename Visitor>
  static void visit(Self& self, Visitor& visitor) {
    visitor.required("requested", self.requested);
    visitor.required("resolved", self.resolved);
  }
};

// Use of the processor for each piece of timed work; see core/device/core_use.h.
struct CoreUses {
  std::vector<double> wall_ms, cpu_ms, waited_ms, background_ms, stolen_ms;
  std::vector<int64_t> involuntary_switches;
  int64_t disturbed = 0;  // pieces kept although they lost their core
  int64_t retaken = 0;    // tries that were dropped

  template <typename Self, typename Visitor>
  static void visit(Self& self, Visitor& visitor) {
    visitor.required("wall_ms", self.wall_ms);
    visitor.required("cpu_ms", self.cpu_ms);
    visitor.required("waited_ms", self.waited_ms);
    visitor.optional("background_ms", self.background_ms);
    visitor.required("involuntary_switches", self.involuntary_switches);
    visitor.required("stolen_ms", self.stolen_ms);
    visitor.required("disturbed", self.disturbed);
    visitor.required("retaken", self.retaken);
  }
};

// Returns the id of the group of these points, given in the group's order.
[[nodiscard]] std::string group_id(const std::vector<std::string>& points);

struct Record {
  int64_t schema = kSchemaVersion;
  Origin experiment;
  std::string point;  // hash of the requested settings
  GroupPlace group;
  std::string config_hash;  // hash of the whole resolved experiment
  PointSettings settings;
  std::map<std::string, int64_t> seeds;  // prompts, weights, sampling; others only if not 1
  std::map<std::string, std::vector<double>> samples;  // by metric, in the order they were taken
  Metrics metrics;
  // Results other than metrics, e.g. tokens_hash, or the verdict and its reasons of a serving run.
  Fields answers;
  std::map<std::string, int64_t> memory;  // bytes
  std::optional<CoreUses> core_use;       // only in kinds that time work
  std::vector<std::string> remarks;       // sentences that a reader of the numbers should know
  Machine machine;
  Provenance provenance;
  // Fingerprints of the model's and the workload's files; older records have none.
  std::optional<Fields> sources;
  std::string started_at, ended_at;  // UTC
  std::string writer;                // the process, if several share the folder

  template <typename Self, typename Visitor>
  static void visit(Self& self, Visitor& visitor) {
    visitor.required("schema", self.schema);
    visitor.required("experiment", self.experiment);
    visitor.name("point", self.point);
    visitor.required("group", self.group);
    visitor.name("config_hash", self.config_hash);
    visitor.required("settings", self.settings);
    visitor.required("seeds", self.seeds);
    visitor.required("samples", self.samples);
    visitor.required("metrics", self.metrics);
    visitor.required("answers", self.answers);
    visitor.required("memory", self.memory);
    visitor.optional("core_use", self.core_use);
    visitor.defaulted("remarks", self.remarks);
    visitor.required("machine", self.machine);
    visitor.required("provenance", self.provenance);
    visitor.optional("sources", self.sources);
    visitor.name("started_at", self.started_at);
    visitor.name("ended_at", self.ended_at);
    visitor.optional("writer", self.writer);
  }

  // A requested setting; null if there is none of that name.
  [[nodiscard]] const Value& requested(const std::string& name) const {
    return field_of(settings.requested, name);
  }
};

// Reads a record. Throws FieldFault for the faults that record_fault() describes.
[[nodiscard]] Record read_record(const Value& line);

// Returns a record's first fault, with the key, the value found and the accepted values; "" if
// there is none. Checks types, units, finite values, negative values, 0 < TTFT <= end-to-end time,
// metrics against their samples, and reused <= prompt tokens. Called before a record is written.
[[nodiscard]] std::string record_fault(const Record& record);

// Returns a sentence if some generations of a method that promises the reference's tokens differ
// from the reference by more than rounding explains (metrics "unexplained" and "generations").
// Returns "" if none do, or if they were not compared.
std::string inexact_remark(const Metrics& metrics);

// True for plan_limit_ratio if the plan reads bytes more than once. Then the ratio may be above 1
// without a fault of the limits, since caches may serve such reads.
bool may_read_caches(const std::string& name, const Metrics& metrics);

// Returns the remarks that a reader of the metrics needs: inexact_remark(), which metrics are
// noisy, a share of a limit above 1 (the limit was measured on a busy machine), and a share so
// small that something other than the measured work took the time.
std::vector<std::string> remarks_on(const Metrics& metrics);

// Returns the current time as "2026-01-31T12:34:56.789Z".
std::string utc_now();

}  // namespace reprise::results
