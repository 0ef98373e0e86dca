// Workloads make the prompts of an experiment's requests. An item is the text of one request, from
// which prompts of any length are taken.
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

// The inputs of a workload. WorkloadInfo and the workload's header say which of them it uses.
struct WorkloadSource {
  std::filesystem::path file;  // file of texts; empty: none
  int64_t vocab = 0;           // token ids are in [0, vocab)
  uint64_t seed = 1;           // seed of the items: the experiment's Seeds::prompts
  // Loads the model's tokenizer on first use, since a model of random weights need not have one.
  // Throws Error if there is none.
  std::function<std::shared_ptr<const Tokenizer>()> tokenizer;
};

// An item depends only on the WorkloadSource and the item's number, not on the items asked for
// before. Several threads may call prompt() at once.
class Workload {
 public:
  virtual ~Workload() = default;
  // Returns item `item` with exactly `tokens` >= 0 tokens; a longer prompt of an item begins with
  // the shorter one. Requests use the items from 0 on; negative item numbers are for other texts,
  // such as a shared prefix.
  [[nodiscard]] virtual std::vector<int32_t> prompt(int64_t item, int64_t tokens) const = 0;
};

struct WorkloadInfo {
  std::string name;     // name in experiment files and records
  std::string summary;  // one line for `reprise list`
  // True if the workload reads a file, which an experiment names by "file" next to the workload's
  // name.
  bool takes_file = false;
  bool file_is_optional = false;  // "file" may be left out
  // True if the workload reads "templates", a folder of prompts into which its texts are put.
  // "templates" may be left out.
  bool takes_templates = false;
};

}  // namespace reprise::workloads
