// How several processes divide one experiment.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

namespace reprise::experiments {

// The part of one process. The whole experiment by default.
struct Shard {
  int64_t index = 0, count = 1;  // index from 0
  // Groups are taken as they come, by whoever is free; else they are dealt in turn, so that a
  // process on a machine of its own needs to know of no other.
  bool is_dynamic = false;

  [[nodiscard]] bool is_whole() const { return count == 1; }
  // Whether group `number` of the plan is this process's to measure.
  [[nodiscard]] bool takes(size_t number) const {
    return is_dynamic || static_cast<int64_t>(number) % count == index;
  }
  // Of several, one tells the results: each shard those it finds, but of ranks the first alone,
  // which waits for the others.
  [[nodiscard]] bool tells_results() const { return !is_dynamic || index == 0; }
  // The name of its files in the results folder: "", "2of4", "rank2of4".
  [[nodiscard]] std::string writer() const;
  // For people: "shard 2/4", "rank 1 of 4".
  [[nodiscard]] std::string text() const;
};

// "2/4" is the second of four. Throws Error naming what is accepted.
Shard parse_shard(const std::string& text);

// The part of a rank that mpirun or srun started, by the variables that Open MPI, MPICH and its
// kin, and Slurm set; the whole where there is one rank, or none was started. `variable` is
// std::getenv or, in tests, a made-up environment: null where one is not set.
Shard shard_of_rank(const std::function<const char*(const char*)>& variable);

}  // namespace reprise::experiments
