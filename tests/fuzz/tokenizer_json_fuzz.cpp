// Reads a tokenizer.json, and encodes and decodes with it a text that has every kind of character.
#include "core/tokenizer/tokenizer.h"
#include "tests/fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace reprise;
  static fuzz::ScratchFile scratch("tokenizer.json");
  const auto& path = scratch.write(fuzz::text_of(data, size));
  fuzz::expect_read_or_refused(fuzz::text_of(data, size), [&] {
    const auto tokenizer = load_tokenizer(path);
    const auto ids =
        tokenizer->encode("The end,  of\t it: 12.5 <s> \xc3\xa9\xe2\x96\x81\xf0\x9f\x99\x82\n",
                          {.add_special = true});
    (void)tokenizer->decode(ids, {});
    for (const int32_t id : {0, 7, tokenizer->vocab_size() - 1}) (void)tokenizer->token_text(id);
  });
  return 0;
}
