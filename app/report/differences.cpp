#include "app/report/differences.h"

#include <fmt/format.h>

#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "app/record_columns.h"
#include "results/identity.h"
#include "results/statistics.h"
#include "results/table.h"

namespace reprise::app {
namespace {

using results::ResultsFolder;

// The text that `fn` returns for the records; different texts are joined.
std::string said(const ResultsFolder& folder, const std::function<std::string(const Json&)>& fn) {
  std::set<std::string> texts;
  for (const Json& record : folder.records) texts.insert(fn(record));
  return fmt::format("{}", fmt::join(texts, " and "));
}

// The requested settings, without the points themselves.
Json asked_for(const ResultsFolder& folder) {
  const Json& settings = folder.run["settings"];
  Json asked = {{"scale", settings["scale"]}, {"axes", settings["axes"]}};
  for (const Json& record : folder.records)
    for (const auto& [name, value] : record["settings"]["requested"].items())
      if (!settings["axes"].contains(name) && name != "method" && name != "method_options")
        asked[name] = "";
  for (const auto& [name, value] : asked.items())
    if (value == "")
      value =
          said(folder, [&, key = name](const Json& record) { return setting_text(record, key); });
  return asked;
}

Json code_of(const ResultsFolder& folder) {
  const auto made = [&](const char* key) {
    return said(folder,
                [key](const Json& record) { return record["provenance"].value(key, "unknown"); });
  };
  const std::string dirty = said(folder, [](const Json& record) {
    return record["provenance"].value("dirty", false) ? "yes" : "no";
  });
  return {{"code", {{"revision", made("revision")}, {"modified", dirty}}},
          {"compiler", made("compiler")},
          {"flags", made("flags")}};
}

Json machine_of(const ResultsFolder& folder) {
  return {
      {"processor",
       said(folder, [](const Json& record) { return record["machine"].value("cpu", "unknown"); })},
      {"logical cores", said(folder, [](const Json& record) {
         return record["machine"].value("logical_cores", Json()).dump();
       })}};
}

// The median of each limit over the records, which may come from several machines.
std::map<std::string, double> limits_of(const ResultsFolder& folder) {
  std::map<std::string, std::vector<double>> all;
  for (const Json& record : folder.records) {
    const Json limits = record["machine"].value("limits", Json::object());
    for (const auto& [name, limit] : limits.items()) all[name].push_back(limit.get<double>());
  }
  std::map<std::string, double> medians;
  for (const auto& [name, values] : all) medians[name] = results::summarize(values).median;
  return medians;
}

std::string limits_that_moved(const ResultsFolder& before, const ResultsFolder& after) {
  constexpr double kMoved = 1.1;
  const std::map<std::string, double> was = limits_of(before);
  std::string text;
  for (const auto& [name, limit] : limits_of(after)) {
    const auto found = was.find(name);
    if (found == was.end() || name == "probe_s") continue;
    if (limit <= kMoved * found->second && found->second <= kMoved * limit) continue;
    text += fmt::format("{}{} {}, was {}", text.empty() ? "" : "; ", name,
                        results::short_number(limit), results::short_number(found->second));
  }
  return text;
}

// The source files of the first record that names them.
Json files_of_first(const ResultsFolder& folder) {
  for (const Json& record : folder.records)
    if (record.contains("sources")) return {{"sources", record["sources"]}};
  return nullptr;
}

std::string files_text(const ResultsFolder& before, const ResultsFolder& after) {
  const Json was = files_of_first(before), is = files_of_first(after);
  return was.is_null() || is.is_null() ? "" : results::difference_text(is, was);
}

}  // namespace

std::vector<std::string> differences_between(const ResultsFolder& before,
                                             const ResultsFolder& after) {
  std::vector<std::string> sentences;
  const auto say = [&](const char* what, const std::string& text) {
    if (!text.empty()) sentences.push_back(fmt::format("{}: {}.", what, text));
  };
  say("Settings", results::difference_text(asked_for(after), asked_for(before)));
  say("Code", results::difference_text(code_of(after), code_of(before)));
  say("Machine", results::difference_text(machine_of(after), machine_of(before)));
  say("The machine's measured limits", limits_that_moved(before, after));
  say("Files", files_text(before, after));
  return sentences;
}

}  // namespace reprise::app
