#include "results/run_entry.h"

#include <nlohmann/json.hpp>

#include "core/base/error.h"
#include "results/hash.h"
#include "results/record.h"
#include "results/results_file.h"

namespace reprise::results {
namespace {

constexpr const char* kShared[] = {"experiment", "config_hash", "machine", "provenance"};
constexpr const char* kRemedy =
    "Restore the file, or run with --fresh to set the old results aside.";

Json shared_part(const Json& record) {
  Json shared = Json::object();
  for (const char* key : kShared) shared[key] = record.at(key);
  return shared;
}

std::string id_of(const Json& shared) { return hash_text(hash_bytes(shared.dump())); }

std::string entry_fault(const Json& line) {
  if (line.value("schema", Json()) != kSchemaVersion)
    return fmt::format("its schema is not {}", kSchemaVersion);
  for (const char* key : kShared)
    if (!line.contains(key)) return fmt::format("\"{}\" is missing", key);
  return machine_fault(line["machine"]);
}

// "" where the record names no run.
std::string named_run(const Json& line, const std::string& where) {
  if (!line.is_object() || !line.contains("run")) return "";
  const Json& id = line["run"];
  if (!id.is_string() || id.get_ref<const std::string&>().empty())
    raise("{} is not a record of this program: \"run\" must be a text, found {}. {}", where,
          shown(id), kRemedy);
  return id;
}

}  // namespace

bool RunEntries::is_entry(const Json& line) {
  return line.is_object() && line.contains("run") && !line.contains("point");
}

std::string RunEntries::add(const Json& line, const std::string& where) {
  const std::string id = named_run(line, where);
  if (const std::string fault = entry_fault(line); !fault.empty())
    raise("{} is not a run's entry of this program: {}. {}", where, fault, kRemedy);
  const std::string shared = shared_part(line).dump();
  if (entries_.emplace(id, shared).first->second != shared)
    raise("{} says something else of run {} than a line before it. {}", where, shown(line["run"]),
          kRemedy);
  return id;
}

Json RunEntries::whole(Json record, const std::string& where) {
  const std::string id = named_run(record, where);
  if (id.empty()) return record;
  const auto entry = entries_.find(id);
  if (entry == entries_.end())
    raise("{} is of run {}, of which no line before it is the entry. {}", where,
          shown(record["run"]), kRemedy);
  added_bytes_ += entry->second.size();
  if (added_bytes_ > most_added_bytes_)
    raise("{}: the records up to here are larger than the {} bytes allowed. {}", where,
          most_added_bytes_, kRemedy);
  for (const char* key : kShared)
    if (record.contains(key))
      raise("{} has \"{}\", which its run's entry has too. {}", where, key, kRemedy);
  record.update(Json::parse(entry->second));
  record.erase("run");
  return record;
}

std::string run_lines(std::span<const Json> records, std::set<std::string>& written) {
  std::string lines;
  for (const Json& record : records) {
    Json shared = shared_part(record);
    const std::string id = id_of(shared);
    if (written.insert(id).second) {
      shared.update({{"schema", kSchemaVersion}, {"run", id}});
      lines += shared.dump() + "\n";
    }
    Json own = record;
    for (const char* key : kShared) own.erase(key);
    own["schema"] = kSchemaVersion;
    own["run"] = id;
    lines += own.dump() + "\n";
  }
  return lines;
}

}  // namespace reprise::results
