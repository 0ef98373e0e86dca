// Reads the header of a .safetensors file, and the values of the tensors that it names.
#include "core/model/checkpoint/safetensors.h"

#include <vector>

#include "tests/fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace reprise;
  static fuzz::ScratchFile scratch("model.safetensors");
  const auto& path = scratch.write(fuzz::text_of(data, size));
  fuzz::expect_read_or_refused(fuzz::text_of(data, size), [&] {
    const model::SafetensorsFile file(path);
    for (const auto& [name, entry] : file.entries()) {
      if (!entry.dtype) continue;
      std::vector<float> values(static_cast<size_t>(entry.elements));
      file.read(entry, 0, entry.elements, DType::kF32, values.data());
    }
  });
  return 0;
}
