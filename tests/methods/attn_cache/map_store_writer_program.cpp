// Writes map stores until it is killed: map_store_writer_program PATH SEED. Each store has maps of
// another seed than the one before, and the maps tell their seed (map_testing.h).
#include <cstdio>
#include <cstdlib>

#include "tests/methods/attn_cache/map_testing.h"

int main(int argc, char** argv) {
  using namespace reprise;
  using namespace reprise::attn_cache;
  if (argc != 3) return 2;
  try {
    const uint64_t seed = std::strtoull(argv[2], nullptr, 10);
    constexpr MapForm kForms[] = {MapForm::kF32, MapForm::kBF16, MapForm::kU8};
    for (uint64_t i = 0;; ++i)
      write_store(argv[1], identity_of(kForms[i % 3]), 4, random_bits(seed, 2, i));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "map_store_writer_program: %s\n", error.what());
    return 1;
  }
}
