// A machine's facts and measured limits, as records keep them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/base/value.h"

namespace reprise {

// The prefetch setting that a calibration chose for a kernel. Settings are texts in the format of
// core/device/fetch_setting.h.
struct FetchChoice {
  struct Trial {
    std::string setting;
    double read_gb_s = 0;
    double speedup = 0;             // against the default setting; median of the rounds
    std::optional<int64_t> rounds;  // absent in older records

    template <typename Self, typename Visitor>
    static void visit(Self& self, Visitor& visitor) {
      visitor.required("setting", self.setting);
      visitor.required("read_gb_s", self.read_gb_s);
      visitor.required("speedup", self.speedup);
      visitor.optional("rounds", self.rounds);
    }
  };

  std::string chosen;
  std::string reason;
  std::vector<Trial> trials;
  std::optional<double> elapsed_s;

  template <typename Self, typename Visitor>
  static void visit(Self& self, Visitor& visitor) {
    visitor.required("chosen", self.chosen);
    visitor.optional("reason", self.reason);
    visitor.optional("trials", self.trials);
    visitor.optional("elapsed_s", self.elapsed_s);
  }
};

struct FetchChoices {
  FetchChoice bf16, f32;  // for keys of this dtype, in attention with few rows
  // weights_*: for weights of the named format in products of few rows. batch_bf16: for bf16
  // weights in products of 5 to 18 rows. large_batch_bf16: for bf16 weights in products of 19 or
  // more rows (with AMX, of 19 to 32). All are absent in older records.
  std::optional<FetchChoice> weights_bf16, weights_f32, weights_codes, batch_bf16, large_batch_bf16;

  template <typename Self, typename Visitor>
  static void visit(Self& self, Visitor& visitor) {
    visitor.required("bf16", self.bf16);
    visitor.required("f32", self.f32);
    visitor.optional("weights_bf16", self.weights_bf16);
    visitor.optional("weights_f32", self.weights_f32);
    visitor.optional("weights_codes", self.weights_codes);
    visitor.optional("batch_bf16", self.batch_bf16);
    visitor.optional("large_batch_bf16", self.large_batch_bf16);
  }
};

// The GPU of a machine that computes on one.
struct MachineDevice {
  std::string name;
  std::string compute_capability;  // "9.0"
  std::optional<int64_t> sms, memory_bytes, l2_bytes;
  Fields state;  // clocks, power, temperature and throttle reasons; or {absent: reason}
  // copy_gb_s, read_gb_s, l2_read_gb_s, half_tflop_s, launch_us, round_trip_us, probe_s
  std::map<std::string, double> limits;

  [[nodiscard]] double limit(const std::string& key) const;  // 0 if it is not known

  template <typename Self, typename Visitor>
  static void visit(Self& self, Visitor& visitor) {
    visitor.optional("name", self.name);
    visitor.optional("compute_capability", self.compute_capability);
    visitor.optional("sms", self.sms);
    visitor.optional("memory_bytes", self.memory_bytes);
    visitor.optional("l2_bytes", self.l2_bytes);
    visitor.optional("state", self.state);
    visitor.optional("limits", self.limits);
  }
};

// Facts about a machine. Unknown facts are empty or absent: a load client states only `cpu` and
// `logical_cores`.
struct Machine {
  std::string cpu;
  std::optional<int64_t> logical_cores, threads;
  std::string isa;
  std::optional<int64_t> l1d_bytes, l2_bytes, l3_bytes, l3_instances, available_bytes;
  std::string transparent_huge_pages;
  // Rates in GB/s or GFLOP/s, keyed by the name of a Limit (core/device/machine_probe.h); also
  // probe_s, the seconds that the probe took.
  std::map<std::string, double> limits;
  std::optional<FetchChoices> fetch;
  std::optional<MachineDevice> device;

  [[nodiscard]] double limit(const std::string& key) const;  // 0 if it is not known

  template <typename Self, typename Visitor>
  static void visit(Self& self, Visitor& visitor) {
    visitor.optional("cpu", self.cpu);
    visitor.optional("logical_cores", self.logical_cores);
    visitor.optional("threads", self.threads);
    visitor.optional("isa", self.isa);
    visitor.optional("l1d_bytes", self.l1d_bytes);
    visitor.optional("l2_bytes", self.l2_bytes);
    visitor.optional("l3_bytes", self.l3_bytes);
    visitor.optional("l3_instances", self.l3_instances);
    visitor.optional("available_bytes", self.available_bytes);
    visitor.optional("transparent_huge_pages", self.transparent_huge_pages);
    visitor.optional("limits", self.limits);
    visitor.optional("fetch", self.fetch);
    visitor.optional("device", self.device);
  }
};

}  // namespace reprise
