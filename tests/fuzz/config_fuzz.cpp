// Reads a model's config.json, and computes what follows from it: positions, frequencies, counts.
#include "core/model/config/config.h"

#include "core/model/network/positions.h"
#include "tests/fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace reprise;
  fuzz::expect_read_or_refused(fuzz::text_of(data, size), [&] {
    const model::ModelConfig config =
        model::parse_config(parse_json(fuzz::text_of(data, size), "config.json"), "config.json");
    (void)config.position_limit();
    (void)config.default_tokens();
    if (config.position == model::PositionScheme::kRotary)
      for (const int64_t length : {int64_t{1}, config.max_positions, config.max_positions + 1})
        (void)model::rotary_frequencies(config.rotary, length);
    if (config.position == model::PositionScheme::kAlibi)
      (void)model::alibi_slopes(config.heads, config.alibi.bias_max);
    if (config.layers < 10'000) (void)config.parameters();
  });
  return 0;
}
