// Reads the streamed answer of a server. The first byte chooses where the answer is split, how many
// tokens were asked for, and whether the body has ended.
#include "experiments/kinds/serving/completion_stream.h"
#include "tests/fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace reprise;
  if (size == 0) return 0;
  const std::string_view bytes = fuzz::text_of(data + 1, size - 1);
  const size_t split = bytes.empty() ? 0 : data[0] % bytes.size();
  server::CompletionStream stream;
  stream.feed(bytes.substr(0, split), 0.5);
  stream.feed(bytes.substr(split), 1.5);
  const server::CompletionAnswer answer = stream.take(data[0] % 8, data[0] % 16 < 8);
  for (size_t i = 1; i < answer.token_s.size(); ++i)
    if (!(answer.token_s[i] >= answer.token_s[i - 1])) std::abort();
  if (!answer.token_ids.empty() && answer.token_ids.size() != answer.token_s.size()) std::abort();
  (void)server::error_text(std::string(bytes));
  if (answer.fault.empty() && !answer.token_s.empty()) fuzz::canary(bytes);
  return 0;
}
