#include "results/identity.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <sstream>

#include "core/base/json.h"

namespace reprise::results {
namespace {

using Path = std::vector<std::string>;

struct Difference {
  Path path;
  Value now, before;  // null if absent
};

// Appends the leaves in which the two differ to `found`. A list counts as one leaf.
void compare(const Value& now, const Value& before, Path& path, std::vector<Difference>& found) {
  if (now == before) return;
  if (!now.is_fields() || !before.is_fields()) {
    found.push_back({path, now, before});
    return;
  }
  std::set<std::string> keys;
  for (const Value* side : {&now, &before})
    for (const auto& [key, value] : side->fields()) keys.insert(key);
  for (const std::string& key : keys) {
    path.push_back(key);
    compare(field_of(now.fields(), key), field_of(before.fields(), key), path, found);
    path.pop_back();
  }
}

std::string value_text(const Value& value) {
  constexpr size_t kMost = 60;
  if (value.is_null()) return "none";
  const std::string text = value.is_text() ? value.text() : shown(value);
  return text.size() <= kMost ? text : text.substr(0, kMost) + "...";
}

std::string joined(const Path& path, size_t first) {
  std::string text;
  for (size_t i = first; i < path.size(); ++i) text += (i == first ? "" : " ") + path[i];
  return text;
}

// Returns the words that name the setting at `path` for a reader.
std::string subject_of(const Path& path) {
  if (path.size() > 1 && path[0] == "axes") return joined(path, 1);
  if (path.size() > 2 && path[0] == "sources" && path[1] == "models") {
    if (path.size() > 3 && path[3] == "weights")
      return fmt::format("weights of {}: {}", path[2], joined(path, 4));
    return fmt::format("{} of {}", joined(path, 3), path[2]);
  }
  if (path.size() > 1 && path[0] == "sources") return joined(path, 1);
  return joined(path, 0);
}

// Returns the words of `now` that `before` lacks, and the words of `before` that `now` lacks, e.g.
// "-O2" and "-O3".
std::pair<std::string, std::string> words_apart(const std::string& now, const std::string& before) {
  const auto only = [](const std::string& of, const std::string& other) {
    const auto words = [](const std::string& text) {
      std::istringstream stream(text);
      return std::vector<std::string>{std::istream_iterator<std::string>(stream), {}};
    };
    const std::vector<std::string> known = words(other);
    std::string left;
    for (const std::string& word : words(of))
      if (std::find(known.begin(), known.end(), word) == known.end())
        left += (left.empty() ? "" : " ") + word;
    return left;
  };
  return {only(now, before), only(before, now)};
}

// Returns revisions with twelve digits each, of a text such as "A and B".
std::string shortened(const std::string& revisions) {
  std::istringstream words(revisions);
  std::string text;
  for (std::string word; words >> word;) text += (text.empty() ? "" : " ") + word.substr(0, 12);
  return text;
}

std::string text_of_difference(const Difference& difference) {
  if (difference.path.back() == "flags" && difference.now.is_text() &&
      difference.before.is_text()) {
    const auto [now, before] = words_apart(difference.now.text(), difference.before.text());
    return fmt::format("{}: \"{}\" is new, \"{}\" is gone", subject_of(difference.path), now,
                       before);
  }
  const auto text = [&](const Value& value) {
    const bool is_revision = difference.path.back() == "revision" && value.is_text();
    return is_revision ? shortened(value.text()) : value_text(value);
  };
  return fmt::format("{} {}, was {}", subject_of(difference.path), text(difference.now),
                     text(difference.before));
}

// Returns e.g. "2 code revisions (a, b)" if there are several.
std::string several(const std::set<std::string>& found, const char* what) {
  if (found.size() < 2) return "";
  return fmt::format("{} {} ({})", found.size(), what, fmt::join(found, ", "));
}

}  // namespace

Fields identity_fields(const std::string& cpu, int64_t cores, const Fields& sources,
                       const std::string& gpu) {
  const Provenance made = provenance();
  Fields machine = {{"cpu", cpu}, {"cores", cores}};
  if (!gpu.empty()) machine["gpu"] = gpu;
  return {{"code", Fields{{"revision", made.revision},
                          {"modified", made.is_dirty ? Value(made.changes) : Value(false)},
                          {"compiler", made.compiler},
                          {"flags", made.flags}}},
          {"machine", machine},
          {"sources", sources}};
}

std::string difference_text(const Fields& now, const Fields& before) {
  constexpr size_t kMost = 6;
  std::vector<Difference> found;
  Path path;
  compare(now, before, path, found);
  // Moves differences of axes to the end, so that the scale is named before the many axes that
  // depend on it.
  std::stable_partition(found.begin(), found.end(), [](const Difference& difference) {
    return difference.path.empty() || difference.path.front() != "axes";
  });
  std::string text;
  for (size_t i = 0; i < found.size() && i < kMost; ++i)
    text += (i == 0 ? "" : "; ") +
            (found[i].path.empty() ? "everything" : text_of_difference(found[i]));
  return found.size() > kMost ? fmt::format("{}; and {} more", text, found.size() - kMost) : text;
}

std::string mixed_note(const std::vector<Record>& records) {
  const auto known = [](const std::string& text) { return text.empty() ? "unknown" : text; };
  std::set<std::string> revisions, builds, machines;
  std::set<std::string> models, models_files, other_files;
  for (const Record& record : records) {
    const Provenance& made = record.provenance;
    revisions.insert(known(made.revision).substr(0, 12) +
                     (made.is_dirty ? ", modified " + made.changes : ""));
    builds.insert(known(made.compiler) + " " + made.flags);
    const auto& gpu = record.machine.device;
    machines.insert(fmt::format("{}{}, {} cores", gpu ? known(gpu->name) + " with " : "",
                                known(record.machine.cpu), shown(record.machine.logical_cores)));
    if (!record.sources) continue;
    const std::string model = text_of(record.settings.requested, "model");
    models.insert(model);
    Fields others = *record.sources;
    models_files.insert(model + json_text(field_of(others, "model")));
    others.erase("model");
    if (!others.empty()) other_files.insert(json_text(others));
  }
  std::vector<std::string> parts;
  for (const std::string& part : {several(revisions, "code revisions"), several(builds, "builds"),
                                  several(machines, "machines")})
    if (!part.empty()) parts.push_back(part);
  if (models_files.size() > models.size())
    parts.emplace_back("several states of one model's files");
  if (other_files.size() > 1)
    parts.emplace_back("several states of the workload's or the methods' files");
  if (parts.empty()) return "";
  return fmt::format("mixed: these records are of {}; what differs between them may be that\n",
                     fmt::join(parts, " and of "));
}

std::map<std::string, double> measured_limits(const Machine& machine) {
  std::map<std::string, double> limits = machine.limits;
  if (machine.device)
    for (const auto& [name, limit] : machine.device->limits) limits["GPU " + name] = limit;
  return limits;
}

}  // namespace reprise::results
