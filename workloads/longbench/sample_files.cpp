#include "workloads/longbench/sample_files.h"

#include <string_view>

#include "core/base/byte_order_mark.h"
#include "core/base/error.h"
#include "core/base/json.h"
#include "workloads/longbench/datasets.h"
#include "workloads/longbench/question_sets.h"

namespace reprise::workloads::longbench {
namespace {

namespace fs = std::filesystem;

// True if the first line is a JSON object with `key`. False if the line is not JSON, which the
// loaders then report.
bool first_line_has(std::string_view text, const char* key) {
  const std::string_view line = text.substr(0, text.find('\n'));
  try {
    return parse_json(line, "line").contains(key);
  } catch (const Error&) {
    return false;
  }
}

std::vector<Sample> load_list(const fs::path& file, std::string_view text) {
  const Value list = parse_json(text, file.string());
  const bool is_musique =
      list.is_list() && list.size() > 0 && list.list()[0].contains("paragraphs");
  return is_musique ? load_musique(file) : load_hotpotqa(file);
}

}  // namespace

std::vector<Sample> load_any(const fs::path& file) {
  const std::string whole = read_file(file);
  const std::string_view text = without_byte_order_mark(whole);
  const size_t first = text.find_first_not_of(" \t\r\n");
  if (first != std::string_view::npos && text[first] == '[') return load_list(file, text);
  return first_line_has(text, "meeting_transcripts") ? load_qmsum(file) : load_samples(file);
}

std::map<std::string, fs::path> dataset_files(const fs::path& folder) {
  std::map<std::string, fs::path> files;
  std::error_code error;
  for (const Dataset& dataset : datasets())
    for (const char* suffix : {"_e.jsonl", ".jsonl"})  // NAME.jsonl replaces NAME_e.jsonl
      if (const fs::path file = folder / (std::string(dataset.name) + suffix);
          fs::is_regular_file(file, error))
        files[std::string(dataset.name)] = file;
  if (files.empty())
    raise("{} holds no file of LongBench's, such as {}/trec.jsonl", folder.string(),
          folder.string());
  return files;
}

}  // namespace reprise::workloads::longbench
