// Deterministic simulation: thousands of small systems, each drawn from a seed, work while
// everything fails that can fail, and their invariants are checked after every step.
// CONTRIBUTING.md tells how to use it.
//
//   simulate [--scenario NAME] [--first SEED] [--seeds N] [--canaries]
//
// Ends with status 1 at the first seed that breaks an invariant, and names the command that repeats
// it. With --canaries, puts one mistake after another into the systems instead, and ends with
// status 1 if one is not found.
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "results/provenance.h"
#include "tests/simulation/scenario.h"

namespace reprise::simulation {
namespace {

constexpr uint64_t kSeedsPerCanary = 400;

// How to repeat the seed that runs now. It is written before the seed runs, because a failed check
// in the code under test ends the process.
std::array<char, 256> repeat = {};

void tell_how_to_repeat(int signal) {
  (void)!::write(STDERR_FILENO, repeat.data(), std::string_view(repeat.data()).size());
  std::signal(signal, SIG_DFL);
  (void)std::raise(signal);
}

// Returns false if an invariant was broken.
bool run_seed(const Scenario& scenario, uint64_t seed, Canary canary, Counts& counts) {
  static const std::string revision = results::provenance().revision.substr(0, 12);
  std::snprintf(repeat.data(), repeat.size(),
                "To repeat it: build/release/bin/simulate --scenario %s --first %lu --seeds 1 "
                "(revision %s)\n",
                scenario.name, static_cast<unsigned long>(seed), revision.c_str());
  try {
    scenario.run(seed, canary, counts);
    return true;
  } catch (const Broken& broken) {
    std::fprintf(stderr, "%s, seed %lu: %s\n", scenario.name, static_cast<unsigned long>(seed),
                 broken.what.c_str());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s, seed %lu: unexpected error: %s\n", scenario.name,
                 static_cast<unsigned long>(seed), error.what());
  }
  if (canary == Canary::kNone) std::fputs(repeat.data(), stderr);
  return false;
}

bool run_seeds(const Scenario& scenario, uint64_t first, uint64_t seeds) {
  Counts counts;
  const auto begin = std::chrono::steady_clock::now();
  for (uint64_t seed = first; seed < first + seeds; ++seed)
    if (!run_seed(scenario, seed, Canary::kNone, counts)) return false;
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  std::printf("%s: %lu seeds in %.1f s, %.2f ms each\n", scenario.name,
              static_cast<unsigned long>(seeds), took.count(),
              1e3 * took.count() / static_cast<double>(seeds));
  for (const auto& [name, count] : counts)
    std::printf("  %10lld %s\n", static_cast<long long>(count), name.c_str());
  bool is_complete = true;
  if (seeds >= 200)
    for (const std::string& name : scenario.expected)
      if (counts[name] == 0) {
        std::fprintf(stderr, "%s: nothing of \"%s\" in all seeds: the faults are too rare\n",
                     scenario.name, name.c_str());
        is_complete = false;
      }
  return is_complete;
}

// Returns the first seed that finds the mistake; 0 if none does. Each seed runs in a child process,
// because the mistake may end it.
uint64_t found_by(const Scenario& scenario, Canary canary) {
  for (uint64_t seed = 1; seed <= kSeedsPerCanary; ++seed) {
    const pid_t child = ::fork();
    if (child == 0) {
      if (std::freopen("/dev/null", "w", stderr) == nullptr) std::_Exit(2);
      Counts counts;
      std::_Exit(run_seed(scenario, seed, canary, counts) ? 0 : 1);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    if (status != 0) return seed;
  }
  return 0;
}

bool find_canaries(const Scenario& scenario) {
  bool all = true;
  for (const Canary canary : scenario.canaries) {
    const uint64_t seed = found_by(scenario, canary);
    all = all && seed > 0;
    const int number = static_cast<int>(canary);
    if (seed > 0)
      std::printf("%s: mistake %d is found by seed %lu\n", scenario.name, number,
                  static_cast<unsigned long>(seed));
    else
      std::fprintf(stderr, "%s: mistake %d is not found by %lu seeds\n", scenario.name, number,
                   static_cast<unsigned long>(kSeedsPerCanary));
  }
  return all;
}

// Reads a whole number, or ends the program.
uint64_t number_in(const char* option, const char* text) {
  char* end = nullptr;
  const uint64_t number = std::strtoull(text, &end, 10);
  if (*text != 0 && *end == 0) return number;
  std::fprintf(stderr, "%s needs a number, found %s\n", option, text);
  std::exit(2);
}

int run(int argc, char** argv) {
  std::string name;
  uint64_t first = 1, seeds = 1000;
  bool canaries = false;
  for (int i = 1; i < argc; ++i) {
    const std::string_view option = argv[i];
    const auto value = [&]() -> const char* {
      if (i + 1 < argc) return argv[++i];
      std::fprintf(stderr, "%s needs a value\n", argv[i]);
      std::exit(2);
    };
    if (option == "--scenario")
      name = value();
    else if (option == "--first")
      first = number_in("--first", value());
    else if (option == "--seeds")
      seeds = number_in("--seeds", value());
    else if (option == "--canaries")
      canaries = true;
    else {
      std::fprintf(stderr, "unknown option %s: --scenario, --first, --seeds, --canaries\n",
                   argv[i]);
      return 2;
    }
  }
  std::signal(SIGABRT, tell_how_to_repeat);
  std::signal(SIGSEGV, tell_how_to_repeat);
  bool is_well = true, is_known = false;
  for (const Scenario& scenario :
       {engine_scenario(), serving_scenario(), store_scenario(), records_scenario()}) {
    if (!name.empty() && name != scenario.name) continue;
    is_known = true;
    is_well = (canaries ? find_canaries(scenario) : run_seeds(scenario, first, seeds)) && is_well;
  }
  if (!is_known)
    std::fprintf(stderr, "no scenario %s: engine, serving, store, records\n", name.c_str());
  return is_well && is_known ? 0 : 1;
}

}  // namespace
}  // namespace reprise::simulation

int main(int argc, char** argv) { return reprise::simulation::run(argc, argv); }
