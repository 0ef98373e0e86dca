#include "experiments/kinds/accuracy/question_files.h"

#include <fmt/format.h>

#include <filesystem>
#include <set>

#include "core/base/error.h"
#include "experiments/kinds/shared/places.h"
#include "workloads/longbench/datasets.h"
#include "workloads/questions/item_file.h"
#include "workloads/questions/judge.h"
#include "workloads/questions/longbench.h"
#include "workloads/questions/longeval.h"
#include "workloads/questions/mmlu.h"
#include "workloads/questions/mmlu_groups.h"

namespace reprise::experiments {
namespace {

namespace questions = workloads::questions;
using questions::Item;

constexpr int64_t kMadeUp = 50;  // number of made-up items; LongEval has 50 items of each length

std::vector<Item> load_mmlu(const std::string& path, const QuestionChoice& choice) {
  std::error_code error;
  return std::filesystem::is_directory(path, error)
             ? questions::load_mmlu_group(path, choice.task, choice.mmlu)
             : questions::load_mmlu(path, choice.mmlu);
}

std::vector<Item> load_all(const Workload& workload, const QuestionChoice& choice) {
  const std::string path = existing_path(workload.file);
  const questions::RetrievalOptions made_up{.items = choice.items > 0 ? choice.items : kMadeUp,
                                            .documents = choice.documents,
                                            .seed = choice.seed};
  if (workload.name == "questions") return questions::load_items(path);
  if (workload.name == "longeval") return questions::load_longeval(path);
  if (workload.name == "longbench")
    return questions::load_longbench(path, {.templates = existing_path(workload.templates),
                                            .dataset = choice.task,
                                            .cuts_documents = choice.cuts_documents});
  if (workload.name == "mmlu") return load_mmlu(path, choice);
  if (workload.name == "line_retrieval") return questions::make_line_retrieval(made_up);
  if (workload.name == "topic_retrieval") return questions::make_topic_retrieval(made_up);
  raise("{}", unknown_name("workload of questions", workload.name, names_of(question_workloads())));
}

}  // namespace

std::vector<workloads::WorkloadInfo> question_workloads() {
  return {
      {.name = "questions",
       .summary = "a file of questions over documents, an item a line",
       .takes_file = true},
      {.name = "longeval", .summary = "a file of LongEval's, lines or topics", .takes_file = true},
      {.name = "longbench",
       .summary = "LongBench, a file or a folder of them; \"templates\" is its config, or that of "
                  "the Prompt Cache authors",
       .takes_file = true,
       .takes_templates = true},
      {.name = "mmlu",
       .summary = "SUBJECT_test.csv of MMLU (or another split), examples from SUBJECT_dev.csv; or "
                  "a folder of them, "
                  "whose tasks are the 17 groups of subjects",
       .takes_file = true},
      {.name = "line_retrieval",
       .summary = "LongEval's lines, made up: which number stands in a line"},
      {.name = "topic_retrieval",
       .summary = "LongEval's topics, made up: what the first conversation was about"}};
}

std::vector<std::string> task_names() {
  std::vector<std::string> names = {"all"};
  for (const std::string_view task : questions::item_tasks()) names.emplace_back(task);
  for (const workloads::longbench::Dataset& dataset : workloads::longbench::datasets())
    names.emplace_back(dataset.name);
  for (const std::string_view group : questions::mmlu_groups()) names.emplace_back(group);
  return names;
}

std::vector<Item> load_questions(const Workload& workload, const QuestionChoice& choice) {
  std::vector<Item> items = load_all(workload, choice);
  std::set<std::string> tasks;
  for (const Item& item : items) tasks.insert(item.task);
  if (choice.task != "all")
    std::erase_if(items, [&](const Item& item) { return item.task != choice.task; });
  if (items.empty())
    raise("{} has no question of task {}; there are: {}",
          workload.file.empty() ? workload.name : workload.file, choice.task,
          fmt::join(tasks, ", "));
  if (choice.items > 0 && std::ssize(items) > choice.items)
    items.resize(static_cast<size_t>(choice.items));
  if (choice.answer_tokens > 0)
    for (Item& item : items) item.most_answer_tokens = choice.answer_tokens;
  questions::check_scorable(items);
  return items;
}

}  // namespace reprise::experiments
