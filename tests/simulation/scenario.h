// The description of a scenario, and the mistakes that scenarios must find. A scenario is a
// function of a seed: it draws a system with its faults, lets it work, and throws Broken if an
// invariant does not hold.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tests/simulation/random.h"
#include "tests/simulation/witness.h"

namespace reprise::simulation {

// How often each kind of event happened, over all seeds. A scenario in which a fault never happens
// proves nothing, so in runs of 200 seeds and more each event of Scenario::expected must have
// happened.
using Counts = std::map<std::string, int64_t>;

// A mistake that is put into the system on purpose. The rig must find each of them.
enum class Canary : uint8_t {
  kNone,
  // engine
  kLeakedBlock,   // a sequence's end forgets a block
  kEarlyRelease,  // a block of a running sequence counts as free
  kStaleReuse,    // a token that nobody has computed is promised as cached
  kSwappedRuns,   // states of a preempted sequence come back to each other's places
  // serving
  kLostEnd,  // a client is never told that its answer has ended
  // store
  kOtherStates,  // a file with sound hashes holds another segment's states
  kLostFile,     // a file vanishes
  // records
  kLostGroup,   // a group whose append() had returned is cut off
  kTornMiddle,  // bytes of a torn group stay between whole ones
};

struct Scenario {
  const char* name;
  // Throws Broken. Adds to `counts`.
  void (*run)(uint64_t seed, Canary canary, Counts& counts);
  // Names in Counts, each of which must have happened after some hundred seeds.
  std::vector<std::string> expected;
  std::vector<Canary> canaries;
};

Scenario engine_scenario();
Scenario serving_scenario();
Scenario store_scenario();
Scenario records_scenario();

}  // namespace reprise::simulation
