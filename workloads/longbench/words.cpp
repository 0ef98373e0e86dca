#include "workloads/longbench/words.h"

#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "core/base/atomic_file.h"
#include "core/base/child_process.h"
#include "core/base/error.h"
#include "core/base/json.h"
#include "core/tokenizer/utf8.h"

namespace reprise::workloads::longbench {
namespace {

// Reads a JSON list of texts and prints one of lists of words, in ASCII whatever the locale is.
constexpr const char* kScript = R"(
import json, logging, sys
import jieba
jieba.setLogLevel(logging.ERROR)
with open(sys.argv[1], encoding="utf-8") as file:
    texts = json.load(file)
json.dump([list(jieba.cut(text, cut_all=False)) for text in texts], sys.stdout)
)";

bool has_jieba(const std::string& python) {
  const std::atomic<bool> goes_on = false;
  try {
    (void)run_child({python, "-c", "import jieba"}, goes_on);
    return true;
  } catch (const Error&) {
    return false;
  }
}

// A file of its own for as long as the script runs.
class TextFile {
 public:
  explicit TextFile(const std::string& bytes)
      : path_((std::filesystem::temp_directory_path() / "reprise-texts-XXXXXX").string()) {
    const int file = ::mkstemp(path_.data());
    if (file < 0) raise("cannot write {}: {}", path_, std::strerror(errno));
    ::close(file);
    try {
      AtomicFile out(path_);
      out.write(bytes);
      out.commit();
    } catch (...) {
      ::unlink(path_.c_str());
      throw;
    }
  }
  TextFile(const TextFile&) = delete;
  TextFile& operator=(const TextFile&) = delete;
  ~TextFile() { ::unlink(path_.c_str()); }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

std::vector<std::vector<std::string>> lists_in(const std::string& answer, size_t wanted,
                                               const std::string& python) {
  const Json json = parse_json(answer, "what " + python + " printed of jieba's words");
  REPRISE_CHECK(json.is_array() && json.size() == wanted, "{} texts", wanted);
  return json.get<std::vector<std::vector<std::string>>>();
}

}  // namespace

std::string find_jieba_python() {
  constexpr const char* kRemedy =
      "Install the package python3-jieba (or: pip install jieba==0.42.1), or set REPRISE_PYTHON to "
      "a Python that has it";
  const char* wanted = std::getenv("REPRISE_PYTHON");
  if (wanted != nullptr && *wanted != '\0') {
    if (!has_jieba(wanted))
      raise(
          "REPRISE_PYTHON is \"{}\", which cannot import jieba; Chinese texts are cut into words "
          "by it. {}.",
          wanted, kRemedy);
    return wanted;
  }
  for (const char* python : {"python3", "/usr/bin/python3"})
    if (has_jieba(python)) return python;
  raise("no python3 that can import jieba was found; Chinese texts are cut into words by it. {}.",
        kRemedy);
}

std::vector<std::vector<std::string>> cut_words(const std::vector<std::string>& texts,
                                                const std::string& python) {
  if (texts.empty()) return {};
  for (const std::string& text : texts) tokenizer::require_utf8(text, "the text to score");
  const std::string program = python.empty() ? find_jieba_python() : python;
  const TextFile file(Json(texts).dump());
  const std::atomic<bool> goes_on = false;
  return lists_in(run_child({program, "-c", kScript, file.path()}, goes_on).out, texts.size(),
                  program);
}

}  // namespace reprise::workloads::longbench
