#include "experiments/framework/experiment_entries.h"

#include <fmt/format.h>

#include <algorithm>

#include "results/metric_name.h"
#include "results/placeholders.h"

namespace reprise::experiments {
namespace {

constexpr size_t kMostEntries = 1000;  // entries of one list

}  // namespace

void require_name(const std::vector<std::string>& names, const std::string& what,
                  const std::string& name, const std::string& where) {
  if (std::find(names.begin(), names.end(), name) == names.end())
    raise("{}: {}", where, unknown_name(what, name, names));
}

const Values& any_list_at(JsonObject& object, const std::string& key) {
  const Values& list = object.list(key);
  if (list.size() > kMostEntries)
    raise("{} has {} entries, {} are allowed", object.where(key), list.size(), kMostEntries);
  return list;
}

void raise_empty(const JsonObject& object, const std::string& key) {
  raise("{} is an empty list: nothing would be measured", object.where(key));
}

const Values& list_at(JsonObject& object, const std::string& key) {
  const Values& list = any_list_at(object, key);
  if (list.empty()) raise_empty(object, key);
  return list;
}

JsonObject entry_object(const Value& entry, Value& storage, const char* name_key,
                        const std::string& source, const std::string& path) {
  if (entry.is_text()) {
    storage = Fields{{name_key, entry}};
    return {storage, source, path};
  }
  if (!entry.is_fields())
    raise("{}: \"{}\" must be a name or an object, found {}", source, path, shown(entry));
  return {entry, source, path};
}

DType dtype_named(const std::string& name, const std::string& where) {
  try {
    return parse_dtype(name);
  } catch (const Error& error) {
    raise("{}: {}", where, error.what());
  }
}

std::optional<WeightFormat> weight_format_named(const std::string& name, const std::string& where) {
  if (name == kPlainWeights) return std::nullopt;
  try {
    return parse_weight_format(name);
  } catch (const Error& error) {
    raise("{}: {}; or \"{}\", as the dtype", where, error.what(), kPlainWeights);
  }
}

void require_different(const std::set<std::string>& seen, const std::string& text,
                       const std::string& where) {
  if (seen.contains(text)) raise("{} lists {} twice", where, text);
}

void require_shown_metric(const KindInfo& kind, const std::string& name, const std::string& where) {
  const results::MetricName wanted = results::split_metric_name(name);
  const MetricInfo& metric = find_named(kind.metrics, "metric", wanted.metric, where);
  if (!wanted.names_percentile) return;
  std::vector<std::string> with_percentiles;
  for (const MetricInfo& other : kind.metrics)
    if (other.has_percentiles) with_percentiles.push_back(other.name);
  if (!metric.has_percentiles)
    raise("{}: {} has no percentiles{}{}", where, metric.name,
          with_percentiles.empty() ? "" : "; in this kind these have: ",
          fmt::join(with_percentiles, ", "));
  require_name(results::percentile_names(), "percentile of " + metric.name, wanted.percentile,
               where);
}

void check_placeholders(const KindInfo& kind, const std::string& text, const std::string& where) {
  (void)results::fill_placeholders(text, where, results::placeholder_names(kind.axis_names()),
                                   [](const std::string&) { return std::string(); });
}

}  // namespace reprise::experiments
