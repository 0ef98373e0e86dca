#include "core/model/checkpoint/safetensors_writer.h"

#include "core/base/atomic_file.h"
#include "core/base/error.h"
#include "core/base/json.h"
#include "core/base/words.h"
#include "core/model/checkpoint/safetensors.h"

namespace reprise::model {

void write_safetensors(const std::filesystem::path& path, std::span<const TensorToWrite> tensors,
                       const std::string& metadata) {
  Fields header;
  if (!metadata.empty()) header["__metadata__"] = parse_json(metadata, "metadata");
  size_t end = 0;
  for (const TensorToWrite& tensor : tensors) {
    int64_t elements = 1;
    for (const int64_t extent : tensor.shape) elements *= extent;
    REPRISE_CHECK(elements == std::ssize(tensor.values), "{}: {} values for a shape of {}",
                  tensor.name, tensor.values.size(), elements);
    REPRISE_CHECK(!header.contains(tensor.name), "{} twice", tensor.name);
    const size_t begin = end;
    end += tensor.values.size_bytes();
    header[tensor.name] =
        Fields{{"dtype", "F32"}, {"shape", tensor.shape}, {"data_offsets", Values{begin, end}}};
  }
  std::string text = json_text(header);
  text.resize((text.size() + 7) / 8 * 8, ' ');  // the format wants aligned data
  std::string begin;
  append_word(begin, uint64_t{text.size()});
  AtomicFile file(path);
  file.write(begin);
  file.write(text);
  for (const TensorToWrite& tensor : tensors) file.write(std::as_bytes(tensor.values));
  file.commit();
}

std::string safetensors_metadata_of(const std::filesystem::path& path) {
  const std::optional<std::string> text = safetensors_header_of(path);
  if (!text) raise("{} is no safetensors file: its header is cut off", path.string());
  const Value header = parse_json(*text, path.string());
  return header.contains("__metadata__") ? json_text(field_of(header, "__metadata__")) : "{}";
}

}  // namespace reprise::model
