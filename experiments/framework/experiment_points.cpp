#include "experiments/framework/experiment_points.h"

#include <fmt/format.h>

#include <set>
#include <vector>

#include "core/base/problems.h"
#include "experiments/framework/experiment_entries.h"
#include "results/record.h"

namespace reprise::experiments {
namespace {

class PointsReader {
 public:
  PointsReader(JsonObject& file, const std::string& source, const Vocabulary& vocabulary,
               Experiment& experiment)
      : file_(file), source_(source), vocabulary_(vocabulary), experiment_(experiment) {}

  void read() {
    const std::string usual = experiment_.kind.method_use ? "methods" : "series";
    if (!file_.has("methods") && !file_.has("series")) (void)file_.at(usual);  // throws
    Problems problems;
    for (const std::string& key : lists_of_points())
      if (file_.has(key)) read_list(key, problems);
    problems.raise_if_any();
    if (experiment_.methods.empty()) raise_empty(file_, file_.has(usual) ? usual : "series");
    require_different_labels();
  }

 private:
  // Refuses a name in "methods" that is a series.
  void refuse_series_among_methods(const std::string& name, const std::string& where) const {
    const KindInfo& kind = experiment_.kind;
    // Older files list series among the methods. If a series is the first entry of "methods", the
    // hint says how to keep it first.
    const char* order =
        kind.method_use && experiment_.methods.empty()
            ? ", and set \"compared_with\" to \"series\" if methods are compared with it"
            : "";
    if (kind.find_series(name) != nullptr)
      raise("{}: \"{}\" is a series of kind \"{}\", no method: list it under \"series\"{}", where,
            name, kind.name, order);
    refuse_series_of_others(name, where);
  }

  void refuse_series_of_others(const std::string& name, const std::string& where) const {
    std::vector<std::string> owners;
    for (const KindInfo& other : vocabulary_.kinds)
      if (other.find_series(name) != nullptr) owners.push_back("\"" + other.name + "\"");
    if (!owners.empty())
      raise("{}: \"{}\" is a series of kind {} alone, and this file is of kind \"{}\"", where, name,
            fmt::join(owners, " and "), experiment_.kind.name);
  }

  void require_method(const std::string& name, const std::string& where) const {
    const KindInfo& kind = experiment_.kind;
    refuse_series_among_methods(name, where);
    if (!kind.method_use)
      raise(
          "{}: method \"{}\" does not run in kind \"{}\", which compares series alone: list some "
          "of "
          "these under \"series\": {}",
          where, name, kind.name, fmt::join(kind.series_names(), ", "));
    std::vector<std::string> known;
    std::string refusal;
    for (const KnownMethod& method : vocabulary_.methods) {
      const std::string reason = method.refusal(*kind.method_use);
      if (reason.empty()) known.push_back(method.name);
      if (method.name == name) refusal = reason;
    }
    if (!refusal.empty())
      raise("{}: method \"{}\" does not run in kind \"{}\": {}. Choose from: {}", where, name,
            kind.name, refusal, fmt::join(known, ", "));
    require_name(known, "method", name, where);
  }

  void require_series(const std::string& name, const std::string& where) const {
    const KindInfo& kind = experiment_.kind;
    if (kind.find_series(name) != nullptr) return;
    for (const KnownMethod& method : vocabulary_.methods)
      if (method.name == name)
        raise("{}: \"{}\" is a method, no series: {}", where, name,
              kind.method_use ? "list it under \"methods\""
                              : fmt::format("kind \"{}\" runs no methods, choose from: {}",
                                            kind.name, fmt::join(kind.series_names(), ", ")));
    refuse_series_of_others(name, where);
    if (kind.series.empty())
      raise("{}: kind \"{}\" has no series; leave \"series\" out", where, kind.name);
    require_name(kind.series_names(), "series", name, where);
  }

  // Checks method options here, so that no error appears after hours of measuring.
  void read_options(JsonObject& entry, MethodChoice& choice) const {
    const Fields none;
    const JsonObject given =
        entry.has("options") ? entry.object("options") : JsonObject(none, source_);
    for (const KnownMethod& method : vocabulary_.methods)
      if (method.name == choice.name) choice.resolved = method.resolve_options(given);
    const Series* series = experiment_.kind.find_series(choice.name);
    if (series != nullptr && series->resolve_options)
      choice.resolved = series->resolve_options(given);
    else if (series != nullptr && !given.fields().empty())
      raise("{}: series \"{}\" has no options; leave out \"{}\"", entry.where("options"),
            choice.name, given.fields().begin()->first);
    choice.options = given.fields();
  }

  // Returns "methods" and "series", the keys that list points, in the order of the points.
  std::vector<std::string> lists_of_points() {
    const std::string first = file_.string("compared_with", "methods");
    require_name({"methods", "series"}, "value", first, file_.where("compared_with"));
    if (file_.has("compared_with") && !file_.has(first))
      raise("{} is \"{}\", and the file lists none; leave it out", file_.where("compared_with"),
            first);
    if (first == "series") return {"series", "methods"};
    return {"methods", "series"};
  }

  void read_list(const std::string& key, Problems& problems) {
    std::set<std::string> seen;
    const Values& list = any_list_at(file_, key);
    for (size_t i = 0; i < list.size(); ++i)
      problems.collect([&] { read_point(key, list[i], fmt::format("{}.{}", key, i), seen); });
  }

  void read_point(const std::string& key, const Value& json, const std::string& path,
                  std::set<std::string>& seen) {
    Value storage;
    JsonObject entry = entry_object(json, storage, "name", source_, path);
    MethodChoice choice{.name = entry.string("name")};
    if (key == "series")
      require_series(choice.name, entry.where("name"));
    else
      require_method(choice.name, entry.where("name"));
    read_options(entry, choice);
    choice.label = entry.string("label", "");
    if (!is_plain_text(choice.label, kLongestName))
      raise("{} must be a text of at most {} bytes without control characters, found {}",
            entry.where("label"), kLongestName, shown(choice.label));
    entry.reject_unknown();
    const std::string text = choice.name + " " + json_text(choice.options);
    require_different(seen, text, file_.where(key));
    seen.insert(text);
    experiment_.methods.push_back(std::move(choice));
  }

  // Throws Error if a point's label is another point's label or name, since figures would draw the
  // two points as one line. Points with the same name and no labels are told apart by their
  // options.
  void require_different_labels() const {
    std::set<std::string> labels, names;
    for (const MethodChoice& choice : experiment_.methods) {
      if (choice.label.empty()) {
        names.insert(choice.name);
      } else if (!labels.insert(choice.label).second) {
        raise("{}: two points have the label {}: give each another one", source_,
              shown(choice.label));
      }
    }
    for (const std::string& label : labels)
      if (names.contains(label))
        raise("{}: the label {} is the name of another point: choose another one", source_,
              shown(label));
  }

  JsonObject& file_;
  const std::string& source_;
  const Vocabulary& vocabulary_;
  Experiment& experiment_;
};

}  // namespace

void read_points(JsonObject& file, const std::string& source, const Vocabulary& vocabulary,
                 Experiment& experiment) {
  PointsReader(file, source, vocabulary, experiment).read();
}

}  // namespace reprise::experiments
