// Reads a recorded trace. The first byte chooses the source that reads the other bytes.
#include <array>
#include <string>

#include "core/tokenizer/tokenizer.h"
#include "tests/fuzz/fuzz.h"
#include "workloads/serving/registry.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace reprise;
  struct Kind {
    const char* source;
    const char* file;
  };
  constexpr std::array kKinds = {Kind{"mooncake", "t.jsonl"}, Kind{"azure", "t.csv"},
                                 Kind{"lengths", "t.csv"},    Kind{"sharegpt", "t.json"},
                                 Kind{"sharegpt", "t.csv"},   Kind{"conversations", "t.json"},
                                 Kind{"bailian", "t.jsonl"},  Kind{"burstgpt", "t.csv"},
                                 Kind{"weka", "t.json"},      Kind{"agentic_coding", "t.jsonl"}};
  if (size == 0) return 0;
  const Kind& kind = kKinds[data[0] % kKinds.size()];
  static const std::shared_ptr<const Tokenizer> tokenizer =
      load_tokenizer(REPRISE_SOURCE_DIR "/models/quickstart");
  fuzz::ScratchFile scratch(kind.file);
  workloads::SourceOptions options{.file = scratch.write(fuzz::text_of(data + 1, size - 1)),
                                   .vocab = 1000};
  options.tokenizer = [] { return tokenizer; };
  fuzz::expect_read_or_refused(fuzz::text_of(data, size), [&] {
    const auto source = workloads::make_request_source(kind.source, options);
    for (int64_t i = 0; i < std::min<int64_t>(source->size(), 4); ++i) {
      const auto lengths = source->lengths(i);
      if (lengths.prompt < 100'000) (void)source->request(i);
    }
    (void)source->arrivals_s();
    (void)source->waits_for();
  });
  return 0;
}
