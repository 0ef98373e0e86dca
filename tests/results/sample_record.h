// A valid record with made-up numbers, and records as the JSON of their lines, for tests of the
// store and the runner.
#pragma once

#include <string>
#include <vector>

#include "core/base/json.h"
#include "results/record.h"
#include "tests/support/json.h"

namespace reprise::results {

inline Json sample_json(const std::string& point, const std::string& group, int index, int of) {
  return {{"schema", kSchemaVersion},
          {"experiment", {{"name", "sample"}, {"kind", "ttft"}}},
          {"point", point},
          {"group", {{"id", group}, {"index", index}, {"of", of}}},
          {"config_hash", "00000000000000aa"},
          {"settings",
           {{"requested", {{"method", "contiguous"}, {"prompt_tokens", 8}}},
            {"resolved", {{"prompt_tokens", 8}}}}},
          {"seeds", {{"prompts", 1}}},
          {"samples", {{"ttft_ms", {2.0, 1.0}}, {"e2e_ms", {3.0, 1.0}}}},
          {"metrics", {{"ttft_ms", {{"value", 1.5}, {"unit", "ms"}}}}},
          {"answers", Json::object()},
          {"memory", Json::object()},
          {"machine", {{"cpu", "made up"}}},
          {"provenance", {{"revision", "unknown"}}},
          {"started_at", utc_now()},
          {"ended_at", utc_now()}};
}

inline Record record_of(const Json& line) { return read_record(value_of(line)); }
inline Json line_of(const Record& record) { return json_of(written_fields(record)); }
inline std::vector<Json> lines_of(const std::vector<Record>& records) {
  std::vector<Json> lines;
  for (const Record& record : records) lines.push_back(line_of(record));
  return lines;
}

inline Record sample_record(const std::string& point, const std::string& group, int index, int of) {
  return record_of(sample_json(point, group, index, of));
}

// A record with the given parts; all other parts are the sample's. A metric that has only quartiles
// gets a range and a count.
inline Record record_of_parts(const Json& parts) {
  Json line = sample_json("p", "g", 0, 1);
  line.update(parts);
  if (!line["settings"].contains("resolved")) line["settings"]["resolved"] = Json::object();
  if (!parts.contains("samples")) line["samples"] = Json::object();
  for (auto& [name, metric] : line["metrics"].items())
    if (metric.contains("q1") && !metric.contains("min"))
      metric.update({{"min", metric["q1"]},
                     {"max", metric["q3"]},
                     {"iqr", metric["q3"].get<double>() - metric["q1"].get<double>()},
                     {"count", 2}});
  return read_fields<Record>(value_of(line));
}
inline std::vector<Record> records_of_parts(const std::vector<Json>& all) {
  std::vector<Record> records;
  for (const Json& parts : all) records.push_back(record_of_parts(parts));
  return records;
}

// Returns why a line is no valid record; "" if it is one.
inline std::string line_fault(const Json& line) {
  try {
    (void)record_of(line);
    return "";
  } catch (const FieldFault& fault) {
    return fault.text;
  }
}

inline Json json_of_metric(const Metric& metric) { return json_of(written_fields(metric)); }

}  // namespace reprise::results
