#include "workloads/questions/longbench.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "core/base/error.h"
#include "workloads/longbench/datasets.h"
#include "workloads/longbench/prompts.h"
#include "workloads/longbench/sample_files.h"

namespace reprise::workloads::questions {
namespace {

namespace fs = std::filesystem;
using longbench::Sample;

std::vector<Sample> samples_in_folder(const fs::path& folder, const std::string& dataset) {
  const std::map<std::string, fs::path> files = longbench::dataset_files(folder);
  std::vector<std::string> names;
  std::vector<Sample> samples;
  for (const auto& [name, file] : files) {
    names.push_back(name);
    if (dataset != "all" && dataset != name) continue;
    std::vector<Sample> more = longbench::load_samples(file);
    std::move(more.begin(), more.end(), std::back_inserter(samples));
  }
  if (samples.empty())
    raise("{} has no {}.jsonl; there are files of: {}", folder.string(), dataset,
          fmt::join(names, ", "));
  return samples;
}

std::vector<Sample> samples_at(const fs::path& path, const std::string& dataset) {
  std::error_code error;
  if (!fs::exists(path, error))
    raise(
        "there is no {}: LongBench's files do not come with this program. Name the folder that has "
        "them, or one of them, as the workload's \"file\", in the experiment or with --set "
        "workload.file=PATH",
        path.string());
  if (fs::is_directory(path, error)) return samples_in_folder(path, dataset);
  return longbench::load_any(path);
}

// Replaces control characters that XML excludes by spaces. XML also excludes U+FFFE and U+FFFF, but
// the texts do not contain them.
std::string without_controls(std::string text) {
  std::replace_if(
      text.begin(), text.end(),
      [](char c) {
        return static_cast<unsigned char>(c) < 0x20 && c != '\t' && c != '\n' && c != '\r';
      },
      ' ');
  return text;
}

Item item_of(Sample sample, const longbench::PromptTemplate& prompt, bool cuts_documents) {
  const longbench::Dataset& dataset = longbench::find_dataset(sample.dataset);
  // A sample with several documents was published with its documents apart and is already cut.
  if (cuts_documents && sample.documents.size() == 1) longbench::recut(sample, dataset.documents);
  if (!cuts_documents) sample.documents = {sample.context()};
  for (std::string& document : sample.documents) document = without_controls(std::move(document));
  sample.input = without_controls(std::move(sample.input));
  longbench::PromptParts parts = longbench::fill(prompt, sample);
  parts.documents.back() += parts.behind;
  Item item{.id = sample.id,
            .task = std::string(dataset.name),
            .preamble = std::move(parts.before),
            .documents = std::move(parts.documents),
            .question = std::move(parts.question),
            .answers = std::move(sample.answers),
            .classes = std::move(sample.classes),
            .judgement = Judgement::kLongBench,
            .most_answer_tokens = prompt.most_answer_tokens,
            .stops_at_line_break = dataset.stops_at_line_break,
            .cue = std::move(parts.cue),
            .takes_chat_template = dataset.takes_chat_template};
  if (item.question.empty() && item.cue.empty())
    raise("{} {}: its template has nothing behind the context, so that nothing is asked", item.task,
          item.id);
  return item;
}

}  // namespace

std::vector<Item> load_longbench(const fs::path& path, const LongBenchOptions& options) {
  std::vector<Sample> samples = samples_at(path, options.dataset);
  longbench::WantedDatasets wanted;
  for (const Sample& sample : samples) wanted.insert(sample.dataset);
  std::error_code error;
  const fs::path beside = fs::is_directory(path, error) ? path : path.parent_path();
  const longbench::PromptTemplates templates =
      longbench::load_templates(options.templates.empty() ? beside : options.templates, wanted);
  std::vector<Item> items;
  for (Sample& sample : samples) {
    const longbench::PromptTemplate& prompt = templates.find(sample.dataset)->second;
    items.push_back(item_of(std::move(sample), prompt, options.cuts_documents));
  }
  return items;
}

}  // namespace reprise::workloads::questions
