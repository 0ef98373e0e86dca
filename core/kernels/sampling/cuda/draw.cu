// Sampling with temperature, top-k and top-p: one block per draw.
//
// Tokens are ordered by a 64-bit key: the logit's bits, mapped so that they ascend, followed by the
// complement of the id. The CPU sorts tokens; here three searches find a key instead: that of the
// last of the top_k tokens, that of the last token that top_p needs, and that of the drawn token. A
// search determines four bits of the key at a time, from the number and the probability mass of the
// tokens in each of 16 bins.
#include "core/kernels/sampling/cuda/draw.cuh"

#include <algorithm>
#include <cmath>

#include "core/kernels/shared/cuda/launch.cuh"
#include "core/kernels/shared/cuda/ptx.cuh"

namespace reprise::kernels::cuda {
namespace {

constexpr int kMostThreads = 256;
constexpr int kMostWarps = kMostThreads / kWarp;
constexpr int kDigitBits = 4;
constexpr int kBins = 1 << kDigitBits;
constexpr int kIdBits = 32;
constexpr int kMostListed = 1024;

// The tokens of one row. A token's weight is proportional to its probability.
struct Row {
  const float* logits;
  int32_t vocab;
  double top, temperature;

  __device__ uint64_t key(int32_t id) const {
    const unsigned bits = __float_as_uint(logits[id] + 0.0f);  // -0 is 0
    const unsigned ascending = bits ^ ((bits >> 31) != 0 ? 0xffffffffu : 0x80000000u);
    return static_cast<uint64_t>(ascending) << kIdBits | ~static_cast<unsigned>(id);
  }
  __device__ double weight(int32_t id) const {
    return exp((static_cast<double>(logits[id]) - top) / temperature);
  }
};

__device__ __forceinline__ int32_t id_of(uint64_t key) {
  return static_cast<int32_t>(~static_cast<unsigned>(key));
}

struct Bins {
  double masses[kBins];
  int32_t counts[kBins];
};

// A search for the largest key such that at least `count` tokens have this key or a larger one, or
// such that these tokens have a total weight of at least `mass` (more than `mass` if `beyond`).
// Tokens whose key is below `least` are ignored.
struct Search {
  uint64_t least = 0;
  int32_t count = 0;  // 0: search by mass, and ignore tokens without weight
  double mass = 0.0;
  bool beyond = false;

  __device__ bool is_reached(int32_t with_count, double with_mass) const {
    if (count > 0) return with_count >= count;
    return beyond ? with_mass > mass : with_mass >= mass;
  }
};

struct Found {
  uint64_t key = 0;
  double mass = 0.0;  // mass of the tokens whose key is at least `key`
};

template <typename T>
__device__ __forceinline__ T sum_of_warp(T value) {
  for (int lanes = kWarp / 2; lanes > 0; lanes /= 2)
    value += __shfl_xor_sync(kAllLanes, value, lanes);
  return value;
}

// The tokens that a search still looks at: all of a row, or those of a list in shared memory.
struct Candidates {
  const int32_t* listed = nullptr;
  int32_t count = 0;

  __device__ int32_t id(int32_t index) const { return listed != nullptr ? listed[index] : index; }
};

// The digits of the key that a search has found: tokens without them are ignored.
struct Prefix {
  uint64_t key = 0, mask = 0;
};

// Returns whether the search counts a token with this key, and sets the weight that it adds.
__device__ __forceinline__ bool is_counted(const Row& row, const Search& search,
                                           const Prefix& prefix, int32_t id, uint64_t key,
                                           double& weight) {
  if ((key & prefix.mask) != prefix.key || key < search.least) return false;
  weight = search.count > 0 ? 0.0 : row.weight(id);
  return search.count > 0 || weight != 0.0;
}

// The thread's candidates with the prefix, binned by the digit at `shift`.
__device__ __forceinline__ void fill_bins(const Row& row, const Search& search,
                                          const Candidates& candidates, const Prefix& prefix,
                                          int shift, Bins& bins) {
  for (int b = 0; b < kBins; ++b) {
    bins.masses[b] = 0.0;
    bins.counts[b] = 0;
  }
  for (int32_t index = static_cast<int32_t>(threadIdx.x); index < candidates.count;
       index += static_cast<int32_t>(blockDim.x)) {
    const int32_t id = candidates.id(index);
    const uint64_t key = row.key(id);
    double weight = 0.0;
    if (!is_counted(row, search, prefix, id, key, weight)) continue;
    const int digit = static_cast<int>(key >> shift) & (kBins - 1);
    REPRISE_UNROLL
    for (int b = 0; b < kBins; ++b) {  // a variable index would put the bins into local memory
      bins.masses[b] += b == digit ? weight : 0.0;
      bins.counts[b] += b == digit ? 1 : 0;
    }
  }
}

// Returns to every thread the bins summed over all threads of the block, in a fixed order. The
// first barrier makes all threads finish reading the previous call's result before this call
// overwrites it.
__device__ __forceinline__ const Bins& sum_bins(const Bins& of_thread) {
  REPRISE_SHARED(Bins[kMostWarps], of_warps);
  REPRISE_SHARED(Bins, all);
  const unsigned warp = threadIdx.x / kWarp, lane = threadIdx.x % kWarp;
  REPRISE_UNROLL
  for (int b = 0; b < kBins; ++b) {
    const double mass = sum_of_warp(of_thread.masses[b]);
    const int32_t count = sum_of_warp(of_thread.counts[b]);
    if (lane == 0) of_warps[warp].masses[b] = mass;
    if (lane == 0) of_warps[warp].counts[b] = count;
  }
  __syncthreads();
  if (threadIdx.x < kBins) {
    double mass = 0.0;
    int32_t count = 0;
    for (int w = 0; w < static_cast<int>(blockDim.x) / kWarp; ++w) {
      mass += of_warps[w].masses[threadIdx.x];
      count += of_warps[w].counts[threadIdx.x];
    }
    all.masses[threadIdx.x] = mass;
    all.counts[threadIdx.x] = count;
  }
  __syncthreads();
  return all;
}

// Lists the `count` tokens of the row that the search counts behind the prefix, so that its further
// digits read no whole rows. The order is always the same, and with it the sums of masses.
__device__ Candidates list_candidates(const Row& row, const Search& search, const Prefix& prefix,
                                      int32_t count) {
  REPRISE_SHARED(int32_t[kMostListed], listed);
  REPRISE_SHARED(int32_t[kMostWarps], of_warps);
  const unsigned warp = threadIdx.x / kWarp, lane = threadIdx.x % kWarp;
  const auto for_own = [&](auto&& fn) {
    for (int32_t id = static_cast<int32_t>(threadIdx.x); id < row.vocab;
         id += static_cast<int32_t>(blockDim.x)) {
      double weight = 0.0;
      if (is_counted(row, search, prefix, id, row.key(id), weight)) fn(id);
    }
  };
  int32_t own = 0;
  for_own([&](int32_t) { ++own; });
  int32_t place = own;  // tokens of the lanes up to this one
  for (unsigned lanes = 1; lanes < kWarp; lanes *= 2) {
    const int32_t below = __shfl_up_sync(kAllLanes, place, lanes);
    if (lane >= lanes) place += below;
  }
  if (lane == kWarp - 1) of_warps[warp] = place;
  __syncthreads();
  place -= own;
  for (unsigned w = 0; w < warp; ++w) place += of_warps[w];
  for_own([&](int32_t id) { listed[place++] = id; });
  __syncthreads();
  return {.listed = listed, .count = count};
}

// Mass and number of the tokens with larger keys than some key.
struct Above {
  double mass = 0.0;
  int32_t count = 0;
};

// A digit of the key. before: the tokens whose digits are larger. with: the same tokens and those
// with this digit.
struct Step {
  int digit = 0;
  Above before, with;
};

// Chooses the digit of the bin in which the search's target is reached. If no bin reaches it, which
// rounding of sums can cause, chooses the lowest non-empty bin.
__device__ Step choose(const Search& search, const Bins& bins, Above above) {
  Step step{.before = above, .with = above};
  for (int b = kBins - 1; b >= 0; --b) {
    if (bins.counts[b] == 0) continue;
    const Above with{.mass = above.mass + bins.masses[b], .count = above.count + bins.counts[b]};
    step = {.digit = b, .before = above, .with = with};
    if (search.is_reached(with.count, with.mass)) return step;
    above = with;
  }
  return step;
}

__device__ Found find(const Row& row, const Search& search) {
  int id_shift = 0;  // shift of the highest digit in which ids differ
  while (((row.vocab - 1) >> id_shift) >= kBins) id_shift += kDigitBits;
  Found found;
  Candidates candidates{.count = row.vocab};
  int32_t count = 0;
  uint64_t mask = 0;
  for (int shift = 64 - kDigitBits; shift >= 0; shift -= kDigitBits) {
    if (shift < kIdBits && shift > id_shift) {
      found.key |= uint64_t{kBins - 1} << shift;  // the complement of an id below 2^shift
    } else {
      Bins mine;
      fill_bins(row, search, candidates, {.key = found.key, .mask = mask}, shift, mine);
      const Bins& bins = sum_bins(mine);
      const Step step = choose(search, bins, {.mass = found.mass, .count = count});
      // At the last digit the bin has only the token that was searched for, and the sums include
      // this token.
      const Above& kept = shift > 0 ? step.before : step.with;
      found.mass = kept.mass;
      count = kept.count;
      found.key |= static_cast<uint64_t>(step.digit) << shift;
      const int32_t left = bins.counts[step.digit];
      if (shift > 0 && candidates.count > kMostListed && left <= kMostListed) {
        const Prefix prefix{.key = found.key, .mask = mask | uint64_t{kBins - 1} << shift};
        candidates = list_candidates(row, search, prefix, left);
      }
    }
    mask |= uint64_t{kBins - 1} << shift;
  }
  return found;
}

// Returns the sum of the weights of tokens whose key is at least `least`.
__device__ double mass_from(const Row& row, uint64_t least) {
  Bins mine;
  fill_bins(row, {.least = least}, {.count = row.vocab}, {}, 64 - kDigitBits, mine);
  const Bins& bins = sum_bins(mine);
  double mass = 0.0;
  for (int b = kBins - 1; b >= 0; --b) mass += bins.masses[b];
  return mass;
}

// Returns the largest key of the row. Returns 0, which is no token's key, if a logit is NaN.
__device__ uint64_t best_key(const Row& row) {
  REPRISE_SHARED(uint64_t[kMostWarps], bests);
  REPRISE_SHARED(int32_t[kMostWarps], nans);
  uint64_t best = 0;
  int has_nan = 0;
  for (int32_t id = static_cast<int32_t>(threadIdx.x); id < row.vocab;
       id += static_cast<int32_t>(blockDim.x)) {
    const uint64_t key = row.key(id);
    if (row.logits[id] != row.logits[id]) has_nan = 1;
    if (key > best) best = key;
  }
  for (int lanes = kWarp / 2; lanes > 0; lanes /= 2) {
    const uint64_t other = __shfl_xor_sync(kAllLanes, best, lanes);
    if (other > best) best = other;
  }
  has_nan = __any_sync(kAllLanes, has_nan);
  if (threadIdx.x % kWarp == 0) bests[threadIdx.x / kWarp] = best;
  if (threadIdx.x % kWarp == 0) nans[threadIdx.x / kWarp] = has_nan;
  __syncthreads();
  for (int w = 0; w < static_cast<int>(blockDim.x) / kWarp; ++w) {
    if (bests[w] > best) best = bests[w];
    if (nans[w] != 0) has_nan = 1;
  }
  return has_nan != 0 ? 0 : best;
}

__device__ uint64_t draw_key(Row row, const SampleRule& rule, uint64_t best) {
  row.top = static_cast<double>(row.logits[id_of(best)]);
  uint64_t least = 0;
  if (0 < rule.top_k && rule.top_k < row.vocab) least = find(row, {.count = rule.top_k}).key;
  double kept = mass_from(row, least);
  if (!(kept < INFINITY)) return best;  // infinite logits
  if (rule.top_p < 1.0) {
    const Found cut = find(row, {.least = least, .mass = rule.top_p * kept});
    least = cut.key;
    kept = cut.mass;
  }
  return find(row, {.least = least, .mass = rule.unit * kept, .beyond = true}).key;
}

// Grid: one block for each draw. Block: one thread per token, up to 256. Shared memory: 6 KiB.
// Reads a row of 4 vocab bytes once; unless it is greedy, reads it again from L2 for the first
// digits of three keys, until 1024 tokens or fewer are left and listed. With normally distributed
// logits and 128k tokens these are 2 to 4 digits of about 13, and two more readings make the list.
// An exponential in double is computed for each token that is left.
__global__ void __launch_bounds__(kMostThreads, 1) draw_rows(const DrawTokens call) {
  const SampleRule rule = call.rules[blockIdx.x];
  const Row row{.logits = call.logits + rule.row * call.vocab,
                .vocab = call.vocab,
                .top = 0.0,
                .temperature = rule.temperature};
  const uint64_t best = best_key(row);
  const bool is_greedy = rule.temperature == 0.0 || rule.top_k == 1;
  const uint64_t key = best == 0 || is_greedy ? best : draw_key(row, rule, best);
  if (threadIdx.x == 0) call.tokens[blockIdx.x] = best == 0 ? SampleCall::kNotANumber : id_of(key);
}

}  // namespace

void draw_tokens(const DrawTokens& call, cudaStream_t stream) {
  const int warps = std::min((call.vocab + kWarp - 1) / kWarp, kMostWarps);
  launch({.name = "draw_tokens",
          .grid = dim3(static_cast<unsigned>(call.draws)),
          .block = dim3(static_cast<unsigned>(warps * kWarp))},
         stream, draw_rows, call);
}

}  // namespace reprise::kernels::cuda
