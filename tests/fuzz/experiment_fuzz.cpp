// Reads an experiment file at each scale, and expands its points.
#include "experiments/framework/experiment_file.h"

#include "experiments/framework/overrides.h"
#include "experiments/framework/sweep.h"
#include "experiments/kinds/registry.h"
#include "tests/fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace reprise;
  static const experiments::Vocabulary vocabulary = experiments::known_vocabulary();
  for (const std::string& scale : experiments::scale_names())
    fuzz::expect_read_or_refused(fuzz::text_of(data, size), [&] {
      const experiments::Experiment experiment = experiments::parse_experiment(
          parse_json(fuzz::text_of(data, size), "e.json"), "e.json", scale, {}, vocabulary);
      (void)experiments::plan(experiment, {.context = Context{}});
    });
  return 0;
}
