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

constexpr MmluSubject kSubjects[] = {{"college_biology", "biology", 144},
                                     {"college_chemistry", "chemistry", 100},
                                     {"college_computer_science", "computer_science", 100},
                                     {"college_mathematics", "math", 100},
                                     {"college_physics", "physics", 102},
                                     {"electrical_engineering", "engineering", 145},
                                     {"astronomy", "physics", 152},
                                     {"anatomy", "health", 135},
                                     {"abstract_algebra", "math", 100},
                                     {"machine_learning", "computer_science", 112},
                                     {"clinical_knowledge", "health", 265},
                                     {"global_facts", "other", 100},
                                     {"management", "business", 103},
                                     {"nutrition", "health", 306},
                                     {"marketing", "business", 234},
                                     {"professional_accounting", "other", 282},
                                     {"high_school_geography", "geography", 198},
                                     {"international_law", "law", 121},
                                     {"moral_scenarios", "philosophy", 895},
                                     {"computer_security", "computer_science", 100},
                                     {"high_school_microeconomics", "economics", 238},
                                     {"professional_law", "law", 1534},
                                     {"medical_genetics", "health", 100},
                                     {"professional_psychology", "psychology", 612},
                                     {"jurisprudence", "law", 108},
                                     {"world_religions", "philosophy", 171},
                                     {"philosophy", "philosophy", 311},
                                     {"virology", "health", 166},
                                     {"high_school_chemistry", "chemistry", 203},
                                     {"public_relations", "politics", 110},
                                     {"high_school_macroeconomics", "economics", 390},
                                     {"human_sexuality", "culture", 131},
                                     {"elementary_mathematics", "math", 378},
                                     {"high_school_physics", "physics", 151},
                                     {"high_school_computer_science", "computer_science", 100},
                                     {"high_school_european_history", "history", 165},
                                     {"business_ethics", "business", 100},
                                     {"moral_disputes", "philosophy", 346},
                                     {"high_school_statistics", "math", 216},
                                     {"miscellaneous", "other", 783},
                                     {"formal_logic", "philosophy", 126},
                                     {"high_school_government_and_politics", "politics", 193},
                                     {"prehistory", "history", 324},
                                     {"security_studies", "politics", 245},
                                     {"high_school_biology", "biology", 310},
                                     {"logical_fallacies", "philosophy", 163},
                                     {"high_school_world_history", "history", 237},
                                     {"professional_medicine", "health", 272},
                                     {"high_school_mathematics", "math", 270},
                                     {"college_medicine", "health", 173},
                                     {"high_school_us_history", "history", 204},
                                     {"sociology", "culture", 201},
                                     {"econometrics", "economics", 114},
                                     {"high_school_psychology", "psychology", 545},
                                     {"human_aging", "health", 223},
                                     {"us_foreign_policy", "politics", 100},
                                     {"conceptual_physics", "physics", 235}};

void check_group(std::string_view group) {
  std::vector<std::string> names(std::begin(kGroups), std::end(kGroups));
  names.insert(names.begin(), "all");
  if (std::find(names.begin(), names.end(), group) == names.end())
    raise("{}", unknown_name("group of MMLU's subjects", group, names));
}

}  // namespace

std::span<const MmluSubject> mmlu_subjects() { return kSubjects; }

std::span<const std::string_view> mmlu_groups() { return kGroups; }

std::string_view mmlu_group_of(std::string_view subject) {
  std::vector<std::string> names;
  for (const MmluSubject& known : kSubjects) {
    if (known.name == subject) return known.group;
    names.emplace_back(known.name);
  }
  std::sort(names.begin(), names.end());
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
