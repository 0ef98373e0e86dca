// What kind "accuracy" asks: files of questions, and questions made up on the spot.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "experiments/framework/kind.h"
#include "workloads/questions/item.h"

namespace reprise::experiments {

// "questions", "longeval", "mmlu", "line_retrieval", "topic_retrieval".
[[nodiscard]] std::vector<workloads::WorkloadInfo> question_workloads();

struct QuestionChoice {
  std::string task = "all";  // of the items, or all of them
  int64_t items = 0;         // the first of these; 0: all, or 50 where they are made up
  int64_t shots = 5;         // of mmlu
  int64_t documents = 20;    // lines or topics, where they are made up
  uint64_t seed = 1;         // likewise
};

// At least one. Throws Error as the loaders do, and where none is of the task, with the tasks there
// are.
std::vector<workloads::questions::Item> load_questions(const Workload& workload,
                                                       const QuestionChoice& choice);

}  // namespace reprise::experiments
