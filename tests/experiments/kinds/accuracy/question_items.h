// Writes a file of four questions over three documents, which the shipped model can be asked. Two
// of the questions have choices.
#pragma once

#include <fmt/format.h>

#include <filesystem>
#include <fstream>

#include "core/base/json.h"
#include "tests/support/json.h"

namespace reprise::experiments {

inline void write_question_items(const std::filesystem::path& path) {
  const Json documents = {"The red key is in box 4. The blue lamp is in drawer 7.\n",
                          "The green key is in box 12. The brass bell is in room 3.\n",
                          "The white cup is in drawer 15. The black map is in box 9.\n"};
  std::ofstream file(path);
  const auto add = [&](const char* thing, const char* task, const char* answer,
                       const Json& choices) {
    file << Json({{"id", thing},
                  {"task", task},
                  {"preamble", "These are facts.\n"},
                  {"documents", documents},
                  {"question", fmt::format("Question: where is the {}?\nAnswer:", thing)},
                  {"answers", Json::array({answer})},
                  {"choices", choices}})
                .dump()
         << "\n";
  };
  add("red key", "single_hop", "box 4", nullptr);
  add("blue lamp", "single_hop", "drawer 7", nullptr);
  add("green key", "choice", "box 12", {"box 12", "box 4", "room 3"});
  add("white cup", "choice", "drawer 15", {"drawer 7", "drawer 15"});
}

}  // namespace reprise::experiments
