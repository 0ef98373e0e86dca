// Reads a SentencePiece model, and encodes and decodes a text with it.
#include "core/tokenizer/tokenizer.h"
#include "tests/fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace reprise;
  static fuzz::ScratchFile scratch("tokenizer.model");
  const auto& path = scratch.write(fuzz::text_of(data, size));
  fuzz::expect_read_or_refused(fuzz::text_of(data, size), [&] {
    const auto tokenizer = load_tokenizer(path);
    const auto ids = tokenizer->encode("The end,  of it: 12.5 \xc3\xa9\xf0\x9f\x99\x82\n", {});
    (void)tokenizer->decode(ids, {});
  });
  return 0;
}
