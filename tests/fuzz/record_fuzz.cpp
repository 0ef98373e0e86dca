// Reads a file of records whose lines name entries of their runs.
#include "results/record.h"

#include "results/store.h"
#include "tests/fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace reprise;
  static fuzz::ScratchFile scratch("records.jsonl");
  const auto& path = scratch.write(fuzz::text_of(data, size));
  fuzz::expect_read_or_refused(fuzz::text_of(data, size), [&] {
    for (const results::Record& record : results::read_record_files({path}).records) {
      // A record that was read can be written and read again.
      const std::string text = json_text(written_fields(record));
      (void)results::read_record(parse_json(text, "again"));
      (void)results::remarks_on(record.metrics);
    }
  });
  return 0;
}
