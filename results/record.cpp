#include "results/record.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chrono>
#include <cmath>
#include <ctime>
#include <map>
#include <nlohmann/json.hpp>

#include "core/base/error.h"
#include "results/statistics.h"

namespace reprise::results {
namespace {

constexpr const char* kObjects[] = {"experiment", "group",   "settings", "seeds",   "samples",
                                    "metrics",    "answers", "memory",   "machine", "provenance"};
constexpr const char* kStrings[] = {"point", "config_hash", "started_at", "ended_at"};

// True for any number that a figure or table can hold.
bool is_sound_number(const Json& value) {
  return value.is_number() && std::abs(value.get<double>()) <= kLargestNumber;
}

std::string number_fault(const std::string& what, const Json& value) {
  if (is_sound_number(value)) return "";
  return fmt::format("{} must be a number from -{:g} to {:g}, found {}", what, kLargestNumber,
                     kLargestNumber, shown(value));
}

std::string name_fault(const std::string& what, const Json& value) {
  if (value.is_string() && !value.get_ref<const std::string&>().empty() &&
      is_plain_text(value.get_ref<const std::string&>(), kLongestName))
    return "";
  return fmt::format("{} must be a text of 1 to {} bytes without control characters, found {}",
                     what, kLongestName, shown(value));
}

// Checks that min, q1, the median, q3 and max, as far as they are there, ascend, and so do the
// percentiles: numbers changed by hand often do not.
std::string order_fault(const std::string& name, const Json& metric) {
  std::vector<const char*> tails;
  for (const Percentile& percentile : kPercentiles) tails.push_back(percentile.name);
  for (const auto& keys : {std::vector<const char*>{"q1", "value", "q3"}, tails}) {
    const char* last = nullptr;
    for (const char* key : keys) {
      if (!metric.contains(key)) continue;
      if (last != nullptr && metric[last] > metric[key])
        return fmt::format("{} of metric {} is {}, above its {}, {}", last, name,
                           shown(metric[last]), key, shown(metric[key]));
      last = key;
    }
  }
  return "";
}

// Checks the unit of a metric whose name ends in one.
std::string unit_fault(const std::string& name, const Json& unit) {
  for (const auto& [ending, wanted] : {std::pair{"_ms", "ms"}, std::pair{"_us", "us"},
                                       std::pair{"_mb", "MB"}, std::pair{"_bytes", "bytes"}})
    if (name.ends_with(ending) && unit != wanted)
      return fmt::format("metrics.{}.unit must be \"{}\", as the name says, found {}", name, wanted,
                         shown(unit));
  return "";
}

// Checks the numbers a metric may have beside its value, and their order.
std::string spread_fault(const std::string& name, const Json& metric) {
  std::vector<std::string> keys = {"min", "max", "q1", "q3", "iqr", "count"};
  for (const Percentile& percentile : kPercentiles) keys.emplace_back(percentile.name);
  for (const std::string& key : keys)
    if (metric.contains(key))
      if (std::string fault = number_fault(fmt::format("metrics.{}.{}", name, key), metric[key]);
          !fault.empty())
        return fault;
  if (metric.contains("q1") != metric.contains("q3"))
    return fmt::format("metric {} has one of its quartiles q1 and q3 alone", name);
  if (metric.contains("min") != metric.contains("max"))
    return fmt::format("metric {} has one of min and max alone", name);
  if (std::string fault = order_fault(name, metric); !fault.empty() || !metric.contains("min"))
    return fault;
  const auto is_inside = [&](const char* key) {
    return !metric.contains(key) || (metric["min"] <= metric[key] && metric[key] <= metric["max"]);
  };
  if (!is_inside("value")) return fmt::format("metric {} lies outside its own range", name);
  for (const char* quartile : {"q1", "q3"})
    if (!is_inside(quartile))
      return fmt::format("{} of metric {} lies outside its range", quartile, name);
  for (const Percentile& percentile : kPercentiles)
    if (!is_inside(percentile.name))
      return fmt::format("{} of metric {} lies outside its range", percentile.name, name);
  return "";
}

// Checks {low, high}: two numbers in that order.
std::string interval_fault(const std::string& what, const Json& interval) {
  if (!interval.is_object() || !interval.contains("low") || !interval.contains("high"))
    return fmt::format("{} must have low and high, found {}", what, shown(interval));
  for (const char* end : {"low", "high"})
    if (std::string fault = number_fault(fmt::format("{}.{}", what, end), interval[end]);
        !fault.empty())
      return fault;
  return interval["low"] <= interval["high"] ? "" : fmt::format("{} ends before it begins", what);
}

// Checks the confidence intervals of the metric and its percentiles, if present.
std::string confidence_fault(const std::string& name, const Json& metric) {
  const std::string where = fmt::format("metrics.{}.", name);
  if (metric.contains("confidence"))
    if (std::string fault = number_fault(where + "confidence", metric["confidence"]);
        !fault.empty())
      return fault;
  if (metric.contains("interval"))
    if (std::string fault = interval_fault(where + "interval", metric["interval"]); !fault.empty())
      return fault;
  const Json intervals = metric.value("intervals", Json::object());
  if (!intervals.is_object())
    return fmt::format("{}intervals must be an object, found {}", where, shown(intervals));
  for (const auto& [percentile, interval] : intervals.items())
    if (std::string fault = interval_fault(where + "intervals." + percentile, interval);
        !fault.empty())
      return fault;
  return "";
}

std::string metric_fault(const std::string& name, const Json& metric) {
  if (std::string fault = name_fault("the name of a metric", name); !fault.empty()) return fault;
  if (!metric.is_object() || !metric.contains("value"))
    return fmt::format("metric {} has no value", name);
  if (std::string fault = number_fault(fmt::format("metrics.{}.value", name), metric["value"]);
      !fault.empty())
    return fault;
  if (!metric.contains("unit") || !metric["unit"].is_string())
    return fmt::format("metric {} has no unit", name);
  if (!metric["unit"].get_ref<const std::string&>().empty())
    if (std::string fault = name_fault(fmt::format("metrics.{}.unit", name), metric["unit"]);
        !fault.empty())
      return fault;
  if (std::string fault = unit_fault(name, metric["unit"]); !fault.empty()) return fault;
  // A correlation or a loss may be negative; such a metric is marked as signed.
  if (metric.contains("signed") && !metric["signed"].is_boolean())
    return fmt::format("metrics.{}.signed must be true or false", name);
  if (const double value = metric["value"].get<double>();
      value < 0 && !metric.value("signed", false))
    return fmt::format("metric {} is negative: {}", name, value);
  if (std::string fault = confidence_fault(name, metric); !fault.empty()) return fault;
  return spread_fault(name, metric);
}

std::string sample_fault(const std::string& name, const Json& samples) {
  if (!samples.is_array() || samples.empty()) return fmt::format("samples {} are empty", name);
  for (const Json& sample : samples)
    if (!is_sound_number(sample))
      return fmt::format("samples {} hold something that is no finite number: {}", name,
                         shown(sample));
  return "";
}

// Checks the settings that identify a point: words, numbers and the method's options.
std::string settings_fault(const Json& settings) {
  for (const char* kind : {"requested", "resolved"}) {
    if (!settings.contains(kind)) return fmt::format("settings lack \"{}\"", kind);
    if (!settings[kind].is_object())
      return fmt::format("settings.{} must be an object, found {}", kind, shown(settings[kind]));
    for (const auto& [key, value] : settings[kind].items()) {
      const std::string what = fmt::format("settings.{}.{}", kind, key);
      std::string fault;
      if (value.is_number()) fault = number_fault(what, value);
      if (value.is_string() && !value.get_ref<const std::string&>().empty())
        fault = name_fault(what, value);
      if (!fault.empty()) return fault;
    }
  }
  const Json& requested = settings["requested"];
  if (std::string fault =
          name_fault("settings.requested.method", requested.value("method", Json()));
      !fault.empty())
    return fault;
  for (const char* key : {"model", "dtype", "weights", "weight_format", "isa", "device"})
    if (requested.contains(key) && !requested[key].is_string())
      return fmt::format("settings.requested.{} must be a text, found {}", key,
                         shown(requested[key]));
  for (const char* key : {"threads", "repetitions"})
    if (requested.contains(key) && !requested[key].is_number())
      return fmt::format("settings.requested.{} must be a number, found {}", key,
                         shown(requested[key]));
  if (requested.contains("method_options") && !requested["method_options"].is_object())
    return fmt::format("settings.requested.method_options must be an object, found {}",
                       shown(requested["method_options"]));
  return "";
}

// Checks a text that may be missing.
std::string text_fault(const Json& object, const char* part, const char* key) {
  const Json found = object.value(key, Json(""));
  if (found.is_string() && is_plain_text(found.get_ref<const std::string&>(), kLongestText))
    return "";
  return fmt::format(
      "{}.{} must be a text of at most {} bytes without control characters, found {}", part, key,
      kLongestText, shown(found));
}

// Checks the parts that name the machine, the code, the experiment and the seeds, if present.
std::string origin_fault(const Json& record) {
  if (std::string fault = machine_fault(record["machine"]); !fault.empty()) return fault;
  for (const auto& [part, key] :
       {std::pair{"provenance", "revision"}, std::pair{"provenance", "changes"},
        std::pair{"provenance", "compiler"}, std::pair{"provenance", "flags"},
        std::pair{"experiment", "name"}, std::pair{"experiment", "kind"},
        std::pair{"experiment", "scale"}, std::pair{"experiment", "paper"},
        std::pair{"experiment", "figure"}})
    if (std::string fault = text_fault(record[part], part, key); !fault.empty()) return fault;
  if (!record["provenance"].value("dirty", Json(false)).is_boolean())
    return fmt::format("provenance.dirty must be true or false, found {}",
                       shown(record["provenance"]["dirty"]));
  for (const auto& [name, seed] : record["seeds"].items())
    if (!seed.is_number())
      return fmt::format("seeds.{} must be a number, found {}", name, shown(seed));
  return "";
}

// Checks 0 < TTFT <= end-to-end time for each repetition.
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

// Returns a metric's value; 0 if it is missing.
double value_of(const Json& metrics, const char* name) {
  const auto metric = metrics.find(name);
  return metric == metrics.end() ? 0 : (*metric)["value"].get<double>();
}

// If neither arithmetic nor memory fills a fiftieth of the time, they do not explain it.
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

std::string disturbed_remark(const Json& mark) {
  const auto count = mark["count"].get<int64_t>(), of = mark["of"].get<int64_t>(),
             retaken = mark["retaken"].get<int64_t>();
  if (count > 0)
    return fmt::format(
        "{} of {} samples lost their cores to other programs, also when they were taken again",
        count, of);
  return fmt::format(
      "{} of {} tries lost their cores to other programs and were dropped; the {} that count kept "
      "theirs, but shared caches and clock",
      retaken, of + retaken, of);
}

// Adds one remark for all metrics that come from the same samples.
void add_disturbed_remarks(const Json& metrics, std::vector<std::string>* remarks) {
  std::map<Json, std::vector<std::string>> names;
  for (const auto& [name, metric] : metrics.items())
    if (is_disturbed(metric)) names[metric["disturbed"]].push_back(name);
  for (const auto& [mark, of] : names)
    remarks->push_back(fmt::format("{}: {}", fmt::join(of, ", "), disturbed_remark(mark)));
}

}  // namespace

bool is_plain_text(std::string_view text, size_t most) {
  if (text.size() > most) return false;
  for (size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    if (c < 0x20 || c == 0x7F) return false;
    if (c == 0xC2 && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xA0)
      return false;
  }
  return true;
}

std::string shown(const Json& value) { return value.dump().substr(0, 100); }

std::string machine_fault(const Json& machine) {
  if (!machine.is_object())
    return fmt::format("machine must be an object, found {}", shown(machine));
  if (std::string fault = text_fault(machine, "machine", "cpu"); !fault.empty()) return fault;
  for (const char* key : {"logical_cores", "l3_bytes"})
    if (const Json found = machine.value(key, Json(0)); !found.is_null())
      if (std::string fault = number_fault(fmt::format("machine.{}", key), found); !fault.empty())
        return fault;
  for (const char* key : {"limits", "fetch"})
    if (const Json found = machine.value(key, Json::object()); !found.is_object())
      return fmt::format("machine.{} must be an object, found {}", key, shown(found));
  const Json limits = machine.value("limits", Json::object());
  for (const auto& [name, limit] : limits.items())
    if (std::string fault = number_fault("machine.limits." + name, limit); !fault.empty())
      return fault;
  return "";
}

std::string record_fault(const Json& record) {
  if (!record.is_object()) return "it is no JSON object";
  const Json schema = record.value("schema", Json());
  if (!schema.is_number_integer() || schema < kOldestSchemaVersion || schema > kSchemaVersion)
    return fmt::format("its schema is not {} to {}", kOldestSchemaVersion, kSchemaVersion);
  for (const char* key : kObjects)
    if (!record.contains(key) || !record[key].is_object())
      return fmt::format("\"{}\" is missing or no object", key);
  for (const char* key : kStrings)
    if (std::string fault = name_fault(key, record.value(key, Json())); !fault.empty())
      return fault;
  if (std::string fault = settings_fault(record["settings"]); !fault.empty()) return fault;
  if (std::string fault = origin_fault(record); !fault.empty()) return fault;
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
  if (unexplained == metrics.end() || (*unexplained)["value"].get<double>() == 0 ||
      !metrics.contains("generations"))
    return "";
  return fmt::format(
      "NOT EXACT: {:.0f} of {:.0f} generations differ from the reference by more than rounding "
      "explains",
      (*unexplained)["value"].get<double>(), metrics["generations"]["value"].get<double>());
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
    if (name.ends_with("_limit_ratio") && value > kClearlyAboveOne)
      remarks.push_back(
          fmt::format("{} is {:.2f}, above 1: the machine's limits were measured while it was "
                      "busy; measure again with --fresh",
                      name, value));
  }
  add_disturbed_remarks(metrics, &remarks);
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
