#include "workloads/longbench/samples.h"

#include "core/base/error.h"
#include "workloads/json_lines.h"
#include "workloads/longbench/datasets.h"

namespace reprise::workloads::longbench {
namespace {

Sample read_sample(JsonObject& line) {
  Sample sample;
  sample.id = line.string("_id");
  const std::string name = line.string("dataset");
  try {
    sample.dataset = find_dataset(name).name;
  } catch (const Error& error) {
    raise("{}: {}", line.where("dataset"), error.what());
  }
  sample.language = line.string("language");
  sample.input = line.string("input");
  sample.documents = {line.string("context")};
  if (sample.documents[0].empty()) raise("{} is empty", line.where("context"));
  sample.answers = answers_of(line, "answers");
  if (line.has("all_classes")) sample.classes = texts_of(line, "all_classes");
  sample.length = line.integer_in("length", 0, INT64_MAX);
  return sample;
}

}  // namespace

std::string Sample::context() const {
  std::string text;
  for (const std::string& document : documents) text += document;
  return text;
}

std::vector<Sample> load_samples(const std::filesystem::path& path) {
  std::vector<Sample> samples;
  for_each_line(path, [&](JsonObject& line) { samples.push_back(read_sample(line)); });
  return samples;
}

void recut(Sample& sample, const DocumentRule& rule) {
  try {
    sample.documents = cut_documents(sample.context(), rule);
  } catch (const Error& error) {
    raise("{} {}: {}", sample.dataset, sample.id, error.what());
  }
  sample.supporting.clear();
}

}  // namespace reprise::workloads::longbench
