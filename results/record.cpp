#include "results/record.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chrono>
#include <cmath>
#include <ctime>
#include <tuple>

#include "results/hash.h"
#include "results/statistics.h"

namespace reprise::results {
namespace {

// Returns the fault of settings that a table cannot print. Settings may be words, numbers and the
// method's options.
std::string settings_fault(const std::string& kind, const Fields& settings) {
  for (const auto& [key, value] : settings) {
    const std::string what = fmt::format("settings.{}.{}", kind, key);
    double number = 0;
    std::string text;
    if (value.is_number()) FieldReader::read(value, what, number);
    if (value.is_text()) FieldReader::read(value, what, text);
    if (text.size() > kLongestName)
      return fmt::format("{} must be a text of at most {} bytes, found {}", what, kLongestName,
                         shown(value));
  }
  return "";
}

std::string requested_fault(const Fields& requested) {
  const std::string where = "settings.requested.";
  const Value& method = field_of(requested, "method");
  if (!method.is_text() || method.text().empty())
    return fmt::format("{}method must be a text of 1 to {} bytes, found {}", where, kLongestName,
                       shown(method));
  for (const char* key : {"model", "dtype", "weights", "weight_format", "isa", "device"})
    if (const Value& found = field_of(requested, key); requested.contains(key) && !found.is_text())
      return fmt::format("{}{} must be a text, found {}", where, key, shown(found));
  for (const char* key : {"threads", "repetitions"})
    if (const Value& found = field_of(requested, key);
        requested.contains(key) && !found.is_number())
      return fmt::format("{}{} must be a number, found {}", where, key, shown(found));
  if (const Value& options = field_of(requested, "method_options");
      requested.contains("method_options") && !options.is_fields())
    return fmt::format("{}method_options must be an object, found {}", where, shown(options));
  return "";
}

// Returns what is wrong if a repetition does not have 0 < TTFT <= end-to-end time, or "".
std::string latency_fault(const Record& record) {
  const auto first = record.samples.find("ttft_ms");
  if (first == record.samples.end()) return "";
  const auto last = record.samples.find("e2e_ms");
  for (size_t i = 0; i < first->second.size(); ++i) {
    const double ttft_ms = first->second[i];
    if (ttft_ms <= 0) return fmt::format("ttft_ms is {}, not above 0", ttft_ms);
    if (last == record.samples.end()) continue;
    if (i >= last->second.size()) return "ttft_ms and e2e_ms have different numbers of samples";
    if (last->second[i] < ttft_ms)
      return fmt::format("ttft_ms {} is above e2e_ms {}", ttft_ms, last->second[i]);
  }
  return "";
}

std::string reuse_fault(const Metrics& metrics) {
  const Metric* reused = find_metric(metrics, "reused_tokens");
  const Metric* prompt = find_metric(metrics, "prompt_tokens_total");
  if (reused == nullptr || prompt == nullptr || reused->value <= prompt->value) return "";
  return fmt::format("{} tokens reused of {} prompt tokens", reused->value, prompt->value);
}

// Checks a metric's median, quartiles and range against its samples, which packed records may have
// with only seven significant digits (tools/pack_record.py).
std::string samples_fault(const std::string& name, const Metric& metric,
                          const std::vector<double>& samples) {
  const Summary own = summarize(samples);
  if (metric.spread->count != std::ssize(samples))
    return fmt::format("metrics.{}.count is {}, but there are {} samples", name,
                       metric.spread->count, samples.size());
  const Spread& told = *metric.spread;
  const double most_rounding =
      std::max(1e-9, 1e-6 * std::max(std::abs(own.min), std::abs(own.max)));
  for (const auto& [what, number, wanted] :
       {std::tuple{"value", metric.value, own.median}, std::tuple{"q1", told.q1, own.q1},
        std::tuple{"q3", told.q3, own.q3}, std::tuple{"min", told.min, own.min},
        std::tuple{"max", told.max, own.max}})
    if (std::abs(number - wanted) > most_rounding)
      return fmt::format("metrics.{}.{} is {}, but its samples give {}", name, what, number,
                         wanted);
  return "";
}

// Returns the first fault that read_fields() does not find, such as two fields that contradict each
// other; "" if there is none.
std::string fault_between_fields(const Record& record) {
  if (record.schema < kOldestSchemaVersion || record.schema > kSchemaVersion)
    return fmt::format("its schema is not {} to {}", kOldestSchemaVersion, kSchemaVersion);
  for (const auto& [kind, settings] : {std::pair{"requested", &record.settings.requested},
                                       std::pair{"resolved", &record.settings.resolved}})
    if (std::string fault = settings_fault(kind, *settings); !fault.empty()) return fault;
  if (std::string fault = requested_fault(record.settings.requested); !fault.empty()) return fault;
  if (record.metrics.empty()) return "it has no metric";
  for (const auto& [name, samples] : record.samples)
    if (samples.empty()) return fmt::format("samples {} are empty", name);
  for (const auto& [name, metric] : record.metrics)
    if (std::string fault = metric_fault(name, metric); !fault.empty()) return fault;
  for (const auto& [name, samples] : record.samples)
    if (const Metric* metric = find_metric(record.metrics, name);
        metric != nullptr && metric->spread)
      if (std::string fault = samples_fault(name, *metric, samples); !fault.empty()) return fault;
  if (std::string fault = latency_fault(record); !fault.empty()) return fault;
  return reuse_fault(record.metrics);
}

double value_of(const Metrics& metrics, const char* name) {
  const Metric* metric = find_metric(metrics, name);
  return metric == nullptr ? 0 : metric->value;
}

// The least time of a prefill divided by its time; 0 without the metric.
double prefill_limit_ratio(const Metrics& metrics) {
  const double over_limit = value_of(metrics, "ttft_over_limit");
  return over_limit > 0 ? 1 / over_limit : 0;
}

// Returns a remark if arithmetic and memory traffic at the machine's limits would each take less
// than kNextToNothing of the time, so that neither explains it.
std::string idle_remark(const Metrics& metrics) {
  constexpr double kNextToNothing = 0.02;
  const double share =
      std::max({value_of(metrics, "compute_limit_ratio"), value_of(metrics, "memory_limit_ratio"),
                prefill_limit_ratio(metrics)});
  if (share <= 0 || share >= kNextToNothing) return "";
  return fmt::format(
      "compute_limit_ratio is {:.3f} and memory_limit_ratio {:.3f}: neither arithmetic nor memory "
      "took the time, but something beside them",
      value_of(metrics, "compute_limit_ratio"), value_of(metrics, "memory_limit_ratio"));
}

std::string disturbed_remark(const Disturbed& mark) {
  if (mark.count > 0)
    return fmt::format(
        "{} of {} samples lost their cores to other programs, also when they were taken again",
        mark.count, mark.of);
  const int64_t retaken = mark.retaken.value_or(0);
  return fmt::format(
      "{} of {} tries lost their cores to other programs and were dropped; the {} that count kept "
      "theirs, but shared caches and clock",
      retaken, mark.of + retaken, mark.of);
}

std::string noise_remark(const Metric& metric) {
  const double iqr = metric.spread->iqr();
  const std::string apart =
      metric.value == 0
          ? fmt::format("{:.3g} {} apart around a median of 0", iqr, metric.unit)
          : fmt::format("{:.0f} % of the median apart", 100 * iqr / std::abs(metric.value));
  return fmt::format("the quartiles lie {}; the machine was busy or throttled", apart);
}

// Adds remarks about disturbed samples: one for all metrics with equal counts, which come from the
// same samples.
void add_disturbed_remarks(const Metrics& metrics, std::vector<std::string>* remarks) {
  std::map<Disturbed, std::vector<std::string>> names;
  for (const auto& [name, metric] : metrics)
    if (metric.disturbed) names[*metric.disturbed].push_back(name);
  for (const auto& [mark, of] : names)
    remarks->push_back(fmt::format("{}: {}", fmt::join(of, ", "), disturbed_remark(mark)));
}

}  // namespace

std::string group_id(const std::vector<std::string>& points) { return hash_of(points); }

Record read_record(const Value& line) {
  Record record = read_fields<Record>(line);
  if (std::string fault = fault_between_fields(record); !fault.empty()) throw FieldFault{fault};
  return record;
}

std::string record_fault(const Record& record) {
  try {
    (void)read_record(written_fields(record));
    return "";
  } catch (const FieldFault& fault) {
    return fault.text;
  }
}

bool may_read_caches(const std::string& name, const Metrics& metrics) {
  return name == "plan_limit_ratio" &&
         value_of(metrics, "read_mb") > value_of(metrics, "useful_mb");
}

std::string above_limit_remark(const std::string& name, const Metrics& metrics) {
  return fmt::format(
      "{} is {:.2f}, above 1: {}the machine's limits were measured while it was busy; measure "
      "again with --fresh",
      name, value_of(metrics, name.c_str()),
      may_read_caches(name, metrics)
          ? "some of the bytes that the plan reads more than once came from caches, or "
          : "");
}

std::string inexact_remark(const Metrics& metrics) {
  const Metric* unexplained = find_metric(metrics, "unexplained");
  const Metric* generations = find_metric(metrics, "generations");
  if (unexplained == nullptr || unexplained->value == 0 || generations == nullptr) return "";
  return fmt::format(
      "NOT EXACT: {:.0f} of {:.0f} generations differ from the reference by more than rounding "
      "explains",
      unexplained->value, generations->value);
}

std::vector<std::string> remarks_on(const Metrics& metrics) {
  constexpr double kClearlyAboveOne = 1.05;
  std::vector<std::string> remarks;
  if (std::string remark = inexact_remark(metrics); !remark.empty())
    remarks.push_back(std::move(remark));
  for (const auto& [name, metric] : metrics) {
    if (is_noisy(metric)) remarks.push_back(fmt::format("{}: {}", name, noise_remark(metric)));
    if (name.ends_with("_limit_ratio") && metric.value > kClearlyAboveOne)
      remarks.push_back(above_limit_remark(name, metrics));
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
