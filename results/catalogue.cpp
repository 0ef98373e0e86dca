#include "results/catalogue.h"

#include <fmt/format.h>

#include "core/base/json.h"
#include "results/data_dir.h"

namespace reprise::results {

std::vector<CatalogueEntry> catalogue() {
  const std::filesystem::path file = results::data_dir() / "data" / "catalogue.json";
  std::vector<CatalogueEntry> entries;
  const Value json = read_json(file);
  for (const Value& value : JsonObject(json, file.string()).at("entries").list()) {
    JsonObject entry(value, file.string());
    entries.push_back({.name = entry.string("name"),
                       .path = entry.string("path"),
                       .shape = entry.string("shape", ""),
                       .parameters = entry.has("parameters") ? entry.integer("parameters") : 0,
                       .alternative = entry.string("or", "")});
  }
  return entries;
}

std::optional<CatalogueEntry> catalogue_entry(const std::string& name) {
  std::string path = name;
  while (path.ends_with('/')) path.pop_back();
  for (CatalogueEntry& entry : catalogue())
    if (path == entry.path || path.starts_with(entry.path + "/") || "models/" + path == entry.path)
      return std::move(entry);
  return std::nullopt;
}

std::string how_to_fetch(const std::string& name) {
  const std::optional<CatalogueEntry> entry = catalogue_entry(name);
  if (!entry) return "";
  const std::string other = entry->alternative.empty() ? "" : ", or: " + entry->alternative;
  return fmt::format("Fetch it: reprise data get {}{}", entry->name, other);
}

}  // namespace reprise::results
