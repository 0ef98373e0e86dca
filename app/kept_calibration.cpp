#include "app/kept_calibration.h"

#include <unistd.h>

#include <filesystem>
#include <optional>
#include <utility>

#include "app/output.h"
#include "core/base/atomic_file.h"
#include "core/base/cache_folder.h"
#include "core/base/error.h"
#include "core/base/fields.h"
#include "core/base/json.h"
#include "core/base/steady_now.h"
#include "core/base/write_all.h"
#include "core/device/machine_probe.h"
#include "core/kernels/calibration/calibration.h"
#include "results/hash.h"
#include "results/provenance.h"

namespace reprise::app {
namespace {

namespace fs = std::filesystem;

struct Kept {
  Fields of;  // facts that the calibration depends on
  FetchChoices fetch;

  template <typename Self, typename Visitor>
  static void visit(Self& self, Visitor& visitor) {
    visitor.required("of", self.of);
    visitor.required("fetch", self.fetch);
  }
};

Fields dependencies(const Context& context) {
  const Machine machine = machine_of(context, {});
  const results::Provenance program = results::provenance();
  return {{"cpu", machine.cpu},
          {"l2_bytes", machine.l2_bytes},
          {"l3_bytes", machine.l3_bytes},
          {"l3_instances", machine.l3_instances},
          {"threads", machine.threads},
          {"isa", machine.isa},
          {"page_bytes", int64_t{getpagesize()}},
          {"transparent_huge_pages", machine.transparent_huge_pages},
          {"revision", program.revision},
          {"changes", program.changes},
          {"compiler", program.compiler},
          {"build_type", program.build_type}};
}

std::optional<FetchChoices> read_kept(const fs::path& path, const Fields& of) {
  if (std::error_code code; !fs::exists(path, code)) return std::nullopt;
  std::string problem;
  try {
    const Kept kept = read_fields<Kept>(parse_json(read_file(path), "the file"));
    (void)kernels::with_calibration({}, kept.fetch);  // refuses malformed settings
    if (kept.of == of) return kept.fetch;
    problem = "it is of another machine or build";
  } catch (const Error& error) {
    problem = error.what();
  } catch (const FieldFault& fault) {
    problem = fault.text;
  }
  note("calibration in {}: {}; measuring anew\n", path.string(), problem);
  return std::nullopt;
}

void keep(const fs::path& path, const Kept& kept, double elapsed_s) {
  constexpr std::string_view kRemedy = "Set XDG_CACHE_HOME to a folder that can be written.";
  try {
    if (!path.is_absolute())
      raise("the cache folder \"{}\" is no full path. {}", cache_folder().string(), kRemedy);
    const fs::path folder = path.parent_path();
    std::error_code error;
    fs::create_directories(folder, error);
    if (error)
      raise("making {} failed: {}. {}", folder.string(), error.message(),
            write_remedy(error.value(), kRemedy));
    AtomicFile file(path);
    file.write(json_text(written_fields(kept), /*indent=*/2) + "\n");
    file.commit();
    note("measured how far ahead to prefetch ({:.1f} s); kept for this machine and build in {}\n",
         elapsed_s, path.string());
  } catch (const std::exception& problem) {
    note(
        "measured how far ahead to prefetch ({:.1f} s); the next command measures again, since it "
        "cannot be kept in the cache folder (XDG_CACHE_HOME): {}\n",
        elapsed_s, problem.what());
  }
}

bool was_measured(const FetchChoices& choices) {
  return !choices.bf16.trials.empty() && choices.weights_bf16 &&
         !choices.weights_bf16->trials.empty();
}

}  // namespace

FetchChoices kept_calibration(const Context& context, const CommonOptions& options) {
  if (given_fetch() || given_weight_fetch()) return kernels::calibrate(context);
  const Fields of = dependencies(context);
  const fs::path path = cache_folder() / "calibration" / (results::hash_of(of) + ".json");
  if (!options.fresh_calibration && path.is_absolute())
    if (const auto kept = read_kept(path, of)) return *kept;
  const int64_t begin_ns = steady_now_ns();
  Kept kept{.of = of, .fetch = kernels::calibrate(context)};
  if (was_measured(kept.fetch)) keep(path, kept, seconds_since(begin_ns));
  return std::move(kept.fetch);
}

Context calibrated(Context context, const CommonOptions& options) {
  if (context.device != Device::kCpu) return context;
  const FetchChoices choices = kept_calibration(context, options);
  return kernels::with_calibration(std::move(context), choices);
}

}  // namespace reprise::app
