// Reads and checks entries of an experiment file. All functions throw Error naming the file and the
// key.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/base/json.h"
#include "experiments/framework/kind.h"

namespace reprise::experiments {

// Returns the element of `things` named `name`. The error for an unknown name suggests the nearest
// known name.
template <typename T>
const T& find_named(const std::vector<T>& things, const std::string& what, const std::string& name,
                    const std::string& where) {
  for (const T& thing : things)
    if (thing.name == name) return thing;
  raise("{}: {}", where, unknown_name(what, name, names_of(things)));
}

void require_name(const std::vector<std::string>& names, const std::string& what,
                  const std::string& name, const std::string& where);
// Throws unless `name` is a metric of the kind, or a percentile of a metric that has percentiles.
void require_shown_metric(const KindInfo& kind, const std::string& name, const std::string& where);
// Throws unless each placeholder of `text`, a title or note, names a setting of the kind.
void check_placeholders(const KindInfo& kind, const std::string& text, const std::string& where);

// Returns the list under `key`, which must have at most 1000 entries.
const Values& any_list_at(JsonObject& object, const std::string& key);
// Returns the list under `key`, which must have 1 to 1000 entries.
const Values& list_at(JsonObject& object, const std::string& key);
// Throws the error of an empty list.
[[noreturn]] void raise_empty(const JsonObject& object, const std::string& key);

// Reads an entry that is either a name alone, or an object with a name under `name_key` and further
// keys. A name alone is turned into such an object in `storage`, which must outlive the result.
JsonObject entry_object(const Value& entry, Value& storage, const char* name_key,
                        const std::string& source, const std::string& path);

// Returns the dtype or the weight format of this name. For kPlainWeights there is no weight format.
[[nodiscard]] DType dtype_named(const std::string& name, const std::string& where);
[[nodiscard]] std::optional<WeightFormat> weight_format_named(const std::string& name,
                                                              const std::string& where);

// Throws if `seen` contains `text`.
void require_different(const std::set<std::string>& seen, const std::string& text,
                       const std::string& where);

}  // namespace reprise::experiments
