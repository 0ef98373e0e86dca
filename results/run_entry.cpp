#include "results/run_entry.h"

#include "core/base/error.h"
#include "core/base/json.h"
#include "results/hash.h"

namespace reprise::results {
namespace {

constexpr const char* kShared[] = {"experiment", "config_hash", "machine", "provenance"};
constexpr const char* kRemedy =
    "Restore the file, or run with --fresh to set the old results aside.";

// The part of a record that is the same for all records of its run.
struct Shared {
  Origin experiment;
  std::string config_hash;
  Machine machine;
  Provenance provenance;

  template <typename Self, typename Visitor>
  static void visit(Self& self, Visitor& visitor) {
    visitor.required("experiment", self.experiment);
    visitor.name("config_hash", self.config_hash);
    visitor.required("machine", self.machine);
    visitor.required("provenance", self.provenance);
  }
};

Fields shared_part(const Fields& line) {
  Fields shared;
  for (const char* key : kShared) shared[key] = field_of(line, key);
  return shared;
}

std::string entry_fault(const Fields& line) {
  if (field_of(line, "schema") != Value(kSchemaVersion))
    return fmt::format("its schema is not {}", kSchemaVersion);
  try {
    (void)read_fields<Shared>(line);
    return "";
  } catch (const FieldFault& fault) {
    return fault.text;
  }
}

// The ID of the record's run; "" if the record names none.
std::string named_run(const Fields& line, const std::string& where) {
  if (!line.contains("run")) return "";
  const Value& id = field_of(line, "run");
  if (!id.is_text() || id.text().empty())
    raise("{} is not a record of this program: \"run\" must be a text, found {}. {}", where,
          shown(id), kRemedy);
  return id.text();
}

}  // namespace

bool RunEntries::is_entry(const Fields& line) {
  return line.contains("run") && !line.contains("point");
}

std::string RunEntries::add(const Fields& line, const std::string& where) {
  const std::string id = named_run(line, where);
  if (const std::string fault = entry_fault(line); !fault.empty())
    raise("{} is not a run's entry of this program: {}. {}", where, fault, kRemedy);
  Fields shared = shared_part(line);
  const size_t bytes = json_text(shared).size();
  const auto [entry, is_new] = entries_.try_emplace(id, Entry{shared, bytes});
  if (!is_new && entry->second.shared != shared)
    raise("{} says something else of run {} than a line before it. {}", where, shown(id), kRemedy);
  return id;
}

Fields RunEntries::whole(Fields record, const std::string& where) {
  const std::string id = named_run(record, where);
  if (id.empty()) return record;
  const auto entry = entries_.find(id);
  if (entry == entries_.end())
    raise("{} is of run {}, of which no line before it is the entry. {}", where, shown(id),
          kRemedy);
  added_bytes_ += entry->second.bytes;
  if (added_bytes_ > most_added_bytes_)
    raise("{}: the records up to here are larger than the {} bytes allowed. {}", where,
          most_added_bytes_, kRemedy);
  for (const char* key : kShared)
    if (record.contains(key))
      raise("{} has \"{}\", which its run's entry has too. {}", where, key, kRemedy);
  update(record, entry->second.shared);
  record.erase("run");
  return record;
}

std::string run_lines(std::span<const Record> records, std::set<std::string>& written) {
  std::string lines;
  for (const Record& record : records) {
    Fields own = written_fields(record);
    Fields shared = shared_part(own);
    const std::string id = hash_of(shared);
    if (written.insert(id).second) {
      update(shared, {{"schema", kSchemaVersion}, {"run", id}});
      lines += json_text(shared) + "\n";
    }
    for (const char* key : kShared) own.erase(key);
    update(own, {{"schema", kSchemaVersion}, {"run", id}});
    lines += json_text(own) + "\n";
  }
  return lines;
}

}  // namespace reprise::results
