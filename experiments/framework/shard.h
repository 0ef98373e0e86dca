// Divides one experiment among several processes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

namespace reprise::experiments {

// The part of an experiment that one process measures; by default all of it.
struct Shard {
  int64_t index = 0, count = 1;  // index counts from 0
  // True: groups go to whichever process is free. False: they are assigned in turn (round robin),
  // so that a process on another machine needs no contact with the other processes.
  bool is_dynamic = false;

  [[nodiscard]] bool is_whole() const { return count == 1; }
  // True if this process may measure group `number` of the plan.
  [[nodiscard]] bool takes(size_t number) const {
    return is_dynamic || static_cast<int64_t>(number) % count == index;
  }
  // True if this process reports the results. Every shard reports the results that it finds. Of
  // several ranks only the first reports, after it has waited for the others.
  [[nodiscard]] bool tells_results() const { return !is_dynamic || index == 0; }
  // Distinguishes the names of this process's files in the results folder from those of other
  // processes: "" for the whole experiment, "2of4" for a shard, "rank2of4" for a rank.
  [[nodiscard]] std::string writer() const;
  // For messages: "shard 2/4", "rank 1 of 4".
  [[nodiscard]] std::string text() const;
};

// Parses e.g. "2/4", the second of four. Throws Error naming the accepted form.
Shard parse_shard(const std::string& text);

// Returns the part of a process that mpirun or srun started as a rank. Reads the environment
// variables of Open MPI, MPICH and its derivatives, or Slurm. Returns the whole experiment if there
// is one rank or none. Throws Error for values that are not a rank. `variable` is std::getenv, or
// in tests a made-up environment; it returns null for unset variables.
Shard shard_of_rank(const std::function<const char*(const char*)>& variable);

}  // namespace reprise::experiments
