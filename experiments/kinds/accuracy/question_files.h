// The questions of kind "accuracy", which are read from files or made up.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "experiments/framework/kind.h"
#include "workloads/questions/item.h"
#include "workloads/questions/mmlu.h"

namespace reprise::experiments {

// The workloads "questions", "longeval", "longbench", "mmlu", "line_retrieval" and
// "topic_retrieval".
[[nodiscard]] std::vector<workloads::WorkloadInfo> question_workloads();

// The values of axis "task": "all", the tasks of item files, LongBench's datasets, and the groups
// of MMLU's subjects.
[[nodiscard]] std::vector<std::string> task_names();

struct QuestionChoice {
  std::string task = "all";  // task of the items that are taken; "all": any
  int64_t items = 0;         // takes the first items only; 0: all, or 50 if items are made up
  workloads::questions::MmluOptions mmlu = {};
  int64_t answer_tokens = 0;   // most tokens of an answer; 0: each item's own limit
  bool cuts_documents = true;  // longbench: cuts a context into its documents
  int64_t documents = 20;      // lines or topics of an item that is made up
  uint64_t seed = 1;           // seed of items that are made up
};

// Returns at least one item. Throws Error as the workloads' loaders do, if an answer cannot be
// scored (check_scorable()), and if no item has the task. The last error names the known tasks.
std::vector<workloads::questions::Item> load_questions(const Workload& workload,
                                                       const QuestionChoice& choice);

}  // namespace reprise::experiments
