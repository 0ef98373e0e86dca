// What an experiment's requests ask: an item for each of them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace reprise {
class Tokenizer;
}

namespace reprise::workloads {

// What a workload may be made from. Which of it one takes, its WorkloadInfo and its header say.
struct WorkloadSource {
  std::filesystem::path file;  // of texts; empty: none
  int64_t vocab = 0;           // token ids are from [0, vocab)
  uint64_t seed = 1;           // Seeds.prompts: of the streams that items are drawn from
  // The model's tokenizer, loaded when it is first asked for: a model of random weights need not
  // have one. Throws Error where there is none.
  std::function<std::shared_ptr<const Tokenizer>()> tokenizer;
};

// Items depend on the source and their number alone: not on what was drawn before, by whom, or on
// how many there are. Several threads may draw at once.
class Workload {
 public:
  virtual ~Workload() = default;
  // The prompt of item `item`, exactly `tokens` >= 0 long; a longer prompt of an item begins with
  // the shorter one. Requests count from 0; negative numbers are items that no request has, such as
  // the prefix that all share.
  [[nodiscard]] virtual std::vector<int32_t> prompt(int64_t item, int64_t tokens) const = 0;
};

struct WorkloadInfo {
  std::string name;               // in experiment files and records
  std::string summary;            // one line for `reprise list`
  bool takes_file = false;        // "file": what to read, next to the name
  bool file_is_optional = false;  // it may be left out
  // "templates": a folder of prompts that its texts are put into, which may be left out.
  bool takes_templates = false;
};

}  // namespace reprise::workloads
