#include "workloads/longbench/words.h"

#include <optional>

#include "core/base/error.h"
#include "core/base/json.h"
#include "core/base/python.h"
#include "core/base/temporary_file.h"
#include "core/tokenizer/utf8.h"

namespace reprise::workloads::longbench {
namespace {

// Reads a JSON list of texts and prints a list of word lists, in ASCII whatever the locale.
constexpr const char* kScript = R"(
import json, logging, sys
import jieba
jieba.setLogLevel(logging.ERROR)
with open(sys.argv[1], encoding="utf-8") as file:
    texts = json.load(file)
json.dump([list(jieba.cut(text, cut_all=False)) for text in texts], sys.stdout)
)";

std::vector<std::vector<std::string>> lists_in(const std::string& answer, size_t wanted,
                                               const std::string& python) {
  const Value json = parse_json(answer, "what " + python + " printed of jieba's words");
  REPRISE_CHECK(json.is_list() && json.size() == wanted, "{} texts", wanted);
  std::vector<std::vector<std::string>> lists(wanted);
  for (size_t i = 0; i < wanted; ++i)
    for (const Value& word : json.list()[i].list()) lists[i].push_back(word.text());
  return lists;
}

}  // namespace

std::string find_jieba_python() {
  const std::optional<std::string> python =
      find_python({.name = "jieba", .package = "python3-jieba"});
  if (!python)
    raise(
        "no python3 that can import jieba was found; Chinese texts are cut into words by it. "
        "Install the package python3-jieba (or: pip install jieba==0.42.1), or set REPRISE_PYTHON "
        "to a Python that has it.");
  return *python;
}

std::vector<std::vector<std::string>> cut_words(const std::vector<std::string>& texts,
                                                const std::string& python) {
  if (texts.empty()) return {};
  for (const std::string& text : texts) tokenizer::require_utf8(text, "the text to score");
  const std::string program = python.empty() ? find_jieba_python() : python;
  const TemporaryFile file("reprise-texts", json_text(texts));
  return lists_in(python_output(program, kScript, {file.path()}), texts.size(), program);
}

}  // namespace reprise::workloads::longbench
