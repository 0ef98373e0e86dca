#include "results/record.h"

#include <chrono>
#include <cmath>
#include <ctime>
#include <nlohmann/json.hpp>

#include "core/base/error.h"
#include "results/statistics.h"

namespace reprise::results {
namespace {

constexpr const char* kObjects[] = {"experiment", "group",   "settings", "seeds",   "samples",
                                    "metrics",    "answers", "memory",   "machine", "provenance"};
constexpr const char* kStrings[] = {"point", "config_hash", "started_at", "ended_at"};

std::string metric_fault(const std::string& name, const Json& metric) {
  if (!metric.is_object() || !metric.contains("value") || !metric["value"].is_number())
    return fmt::format("metric {} has no number as value", name);
  if (!metric.contains("unit") || !metric["unit"].is_string())
    return fmt::format("metric {} has no unit", name);
  const double value = metric["value"].get<double>();
  if (!std::isfinite(value)) return fmt::format("metric {} is not finite", name);
  if (value < 0) return fmt::format("metric {} is negative: {}", name, value);
  if (metric.contains("min") &&
      !(metric["min"] <= metric["value"] && metric["value"] <= metric["max"]))
    return fmt::format("metric {} lies outside its own range", name);
  for (const Percentile& percentile : kPercentiles)
    if (metric.contains(percentile.name) &&
        !(metric["min"] <= metric[percentile.name] && metric[percentile.name] <= metric["max"]))
      return fmt::format("{} of metric {} lies outside its range", percentile.name, name);
  return "";
}

std::string sample_fault(const std::string& name, const Json& samples) {
  if (!samples.is_array() || samples.empty()) return fmt::format("samples {} are empty", name);
  for (const Json& sample : samples)
    if (!sample.is_number() || !std::isfinite(sample.get<double>()))
      return fmt::format("samples {} hold something that is no finite number", name);
  return "";
}

// 0 < TTFT <= end-to-end, repetition by repetition.
std::string latency_fault(const Json& samples) {
  if (!samples.contains("ttft_ms")) return "";
  const Json& first = samples["ttft_ms"];
  for (size_t i = 0; i < first.size(); ++i) {
    const double ttft_ms = first[i].get<double>();
    if (ttft_ms <= 0) return fmt::format("ttft_ms is {}, not above 0", ttft_ms);
    if (!samples.contains("e2e_ms")) continue;
    const Json& last = samples["e2e_ms"];
    if (i >= last.size()) return "ttft_ms and e2e_ms have different numbers of samples";
    if (last[i].get<double>() < ttft_ms)
      return fmt::format("ttft_ms {} is above e2e_ms {}", ttft_ms, last[i].get<double>());
  }
  return "";
}

std::string reuse_fault(const Json& metrics) {
  if (!metrics.contains("reused_tokens") || !metrics.contains("prompt_tokens_total")) return "";
  const double reused = metrics["reused_tokens"]["value"].get<double>();
  const double prompt = metrics["prompt_tokens_total"]["value"].get<double>();
  return reused > prompt ? fmt::format("{} tokens reused of {} prompt tokens", reused, prompt) : "";
}

}  // namespace

std::string record_fault(const Json& record) {
  if (!record.is_object()) return "it is no JSON object";
  if (!record.contains("schema") || record["schema"] != kSchemaVersion)
    return fmt::format("its schema is not {}", kSchemaVersion);
  for (const char* key : kObjects)
    if (!record.contains(key) || !record[key].is_object())
      return fmt::format("\"{}\" is missing or no object", key);
  for (const char* key : kStrings)
    if (!record.contains(key) || !record[key].is_string() || record[key].get<std::string>().empty())
      return fmt::format("\"{}\" is missing or empty", key);
  for (const char* key : {"requested", "resolved"})
    if (!record["settings"].contains(key)) return fmt::format("settings lack \"{}\"", key);
  if (record["metrics"].empty()) return "it has no metric";
  for (const auto& [name, samples] : record["samples"].items())
    if (std::string fault = sample_fault(name, samples); !fault.empty()) return fault;
  for (const auto& [name, metric] : record["metrics"].items())
    if (std::string fault = metric_fault(name, metric); !fault.empty()) return fault;
  if (std::string fault = latency_fault(record["samples"]); !fault.empty()) return fault;
  return reuse_fault(record["metrics"]);
}

std::string inexact_remark(const Json& metrics) {
  const auto unexplained = metrics.find("unexplained");
  if (unexplained == metrics.end() || (*unexplained)["value"].get<double>() == 0) return "";
  return fmt::format(
      "NOT EXACT: {:.0f} of {:.0f} generations differ from the reference by more than rounding "
      "explains",
      (*unexplained)["value"].get<double>(), metrics["generations"]["value"].get<double>());
}

// Of a metric; 0 where it is not there.
double value_of(const Json& metrics, const char* name) {
  const auto metric = metrics.find(name);
  return metric == metrics.end() ? 0 : (*metric)["value"].get<double>();
}

// Neither arithmetic nor memory explains a time of which they fill a fiftieth.
std::string idle_remark(const Json& metrics) {
  constexpr double kNextToNothing = 0.02;
  const double share =
      std::max(value_of(metrics, "compute_limit_ratio"), value_of(metrics, "memory_limit_ratio"));
  if (share <= 0 || share >= kNextToNothing) return "";
  return fmt::format(
      "compute_limit_ratio is {:.3f}: neither arithmetic nor memory took the time, but something "
      "beside them",
      value_of(metrics, "compute_limit_ratio"));
}

std::vector<std::string> remarks_on(const Json& metrics) {
  constexpr double kClearlyAboveOne = 1.05;
  std::vector<std::string> remarks;
  if (std::string remark = inexact_remark(metrics); !remark.empty())
    remarks.push_back(std::move(remark));
  for (const auto& [name, metric] : metrics.items()) {
    const double value = metric["value"].get<double>();
    if (is_noisy(metric))
      remarks.push_back(
          fmt::format("{}: the quartiles lie {:.0f} % of the median apart; the machine was "
                      "busy or throttled",
                      name, 100 * metric["iqr"].get<double>() / value));
    if (is_disturbed(metric))
      remarks.push_back(fmt::format(
          "{}: {} of {} samples lost their cores to other programs, also when they were "
          "taken again",
          name, metric["disturbed"]["count"].get<int64_t>(),
          metric["disturbed"]["of"].get<int64_t>()));
    if (name.ends_with("_limit_ratio") && value > kClearlyAboveOne)
      remarks.push_back(
          fmt::format("{} is {:.2f}, above 1: the machine's limits were measured while it was "
                      "busy; measure again with --fresh",
                      name, value));
  }
  if (std::string remark = idle_remark(metrics); !remark.empty())
    remarks.push_back(std::move(remark));
  return remarks;
}

std::string utc_now() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
  const std::time_t seconds = ms / 1000;
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", parts.tm_year + 1900,
                     parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec,
                     ms % 1000);
}

}  // namespace reprise::results
