// Reads a PML schema and, behind a NUL byte, a prompt for it.
#include <set>

#include "methods/prompt_cache/encoding.h"
#include "methods/prompt_cache/pml/parse.h"
#include "methods/prompt_cache/pml/prompt.h"
#include "tests/fuzz/fuzz.h"

namespace {

using namespace reprise;

// One token for each byte.
pml::TextEncoder byte_encoder() {
  return {.encode =
              [](std::string_view text) { return std::vector<int32_t>(text.begin(), text.end()); },
          .placeholder = '?',
          .bos = 256,
          .eos = 257,
          .opening = {256}};
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text = fuzz::text_of(data, size);
  const size_t end = std::min(text.find('\0'), text.size());
  const std::string schema_text(text.substr(0, end));
  const std::string prompt_text(end < text.size() ? text.substr(end + 1) : "");
  static const pml::TextEncoder encoder = byte_encoder();
  for (const pml::Rules rules : {pml::Rules::kPml, pml::Rules::kAsCoded})
    fuzz::expect_read_or_refused(fuzz::text_of(data, size), [&] {
      pml::LayoutOptions options;
      options.rules = rules;
      options.max_positions = 4096;
      const pml::CompiledSchema schema = pml::compile_schema(
          pml::parse_schema(pml::Source("s.xml", schema_text)), encoder, options);
      const pml::CompiledPrompt prompt = pml::compile_prompt(
          pml::parse_prompt(pml::Source("p.xml", prompt_text)), schema, encoder, 4096);
      for (const prompt_cache::Mode mode :
           {prompt_cache::Mode::kIsolated, prompt_cache::Mode::kJoint,
            prompt_cache::Mode::kScaffold}) {
        const prompt_cache::Encoding encoding = prompt_cache::encoding_of(schema, mode);
        (void)prompt_cache::imported_runs(schema, encoding, prompt);
      }
    });
  return 0;
}
