#include "workloads/questions/mmlu_groups.h"

#include <algorithm>
#include <string>

#include "core/base/error.h"
#include "workloads/questions/mmlu_files.h"

namespace reprise::workloads::questions {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kGroups[] = {
    "biology",     "business",   "chemistry", "computer_science", "culture",   "economics",
    "engineering", "geography",  "health",    "history",          "law",       "math",
    "other",       "philosophy", "physics",   "politics",         "psychology"};

struct Subject {
  std::string_view name, group;
};
// The groups of the authors' evaluation (categories.py of hendrycks/test), with _ for spaces.
constexpr Subject kSubjects[] = {{"abstract_algebra", "math"},
                                 {"anatomy", "health"},
                                 {"astronomy", "physics"},
                                 {"business_ethics", "business"},
                                 {"clinical_knowledge", "health"},
                                 {"college_biology", "biology"},
                                 {"college_chemistry", "chemistry"},
                                 {"college_computer_science", "computer_science"},
                                 {"college_mathematics", "math"},
                                 {"college_medicine", "health"},
                                 {"college_physics", "physics"},
                                 {"computer_security", "computer_science"},
                                 {"conceptual_physics", "physics"},
                                 {"econometrics", "economics"},
                                 {"electrical_engineering", "engineering"},
                                 {"elementary_mathematics", "math"},
                                 {"formal_logic", "philosophy"},
                                 {"global_facts", "other"},
                                 {"high_school_biology", "biology"},
                                 {"high_school_chemistry", "chemistry"},
                                 {"high_school_computer_science", "computer_science"},
                                 {"high_school_european_history", "history"},
                                 {"high_school_geography", "geography"},
                                 {"high_school_government_and_politics", "politics"},
                                 {"high_school_macroeconomics", "economics"},
                                 {"high_school_mathematics", "math"},
                                 {"high_school_microeconomics", "economics"},
                                 {"high_school_physics", "physics"},
                                 {"high_school_psychology", "psychology"},
                                 {"high_school_statistics", "math"},
                                 {"high_school_us_history", "history"},
                                 {"high_school_world_history", "history"},
                                 {"human_aging", "health"},
                                 {"human_sexuality", "culture"},
                                 {"international_law", "law"},
                                 {"jurisprudence", "law"},
                                 {"logical_fallacies", "philosophy"},
                                 {"machine_learning", "computer_science"},
                                 {"management", "business"},
                                 {"marketing", "business"},
                                 {"medical_genetics", "health"},
                                 {"miscellaneous", "other"},
                                 {"moral_disputes", "philosophy"},
                                 {"moral_scenarios", "philosophy"},
                                 {"nutrition", "health"},
                                 {"philosophy", "philosophy"},
                                 {"prehistory", "history"},
                                 {"professional_accounting", "other"},
                                 {"professional_law", "law"},
                                 {"professional_medicine", "health"},
                                 {"professional_psychology", "psychology"},
                                 {"public_relations", "politics"},
                                 {"security_studies", "politics"},
                                 {"sociology", "culture"},
                                 {"us_foreign_policy", "politics"},
                                 {"virology", "health"},
                                 {"world_religions", "philosophy"}};

void check_group(std::string_view group) {
  std::vector<std::string> names(std::begin(kGroups), std::end(kGroups));
  names.insert(names.begin(), "all");
  if (std::find(names.begin(), names.end(), group) == names.end())
    raise("{}", unknown_name("group of MMLU's subjects", group, names));
}

}  // namespace

std::span<const std::string_view> mmlu_groups() { return kGroups; }

std::string_view mmlu_group_of(std::string_view subject) {
  std::vector<std::string> names;
  for (const Subject& known : kSubjects) {
    if (known.name == subject) return known.group;
    names.emplace_back(known.name);
  }
  raise("{}", unknown_name("subject of MMLU", subject, names));
}

std::vector<Item> load_mmlu_group(const fs::path& folder, std::string_view group,
                                  const MmluOptions& options) {
  check_group(group);
  std::vector<Item> items;
  for (const MmluFile& file : find_mmlu_files(folder, options.split)) {
    const std::string_view of = mmlu_group_of(file.subject);
    if (group != "all" && of != group) continue;
    for (Item& item : load_mmlu(file.path, options)) {
      item.task = of;
      items.push_back(std::move(item));
    }
  }
  if (items.empty())
    raise("{} has no SUBJECT_{}.csv of group {}", folder.string(), options.split, group);
  return items;
}

}  // namespace reprise::workloads::questions
