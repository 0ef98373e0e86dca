// Sampling with temperature, top-k and top-p: one block per draw.
//
// Tokens are ordered by a 64-bit key. Its upper half is the bits of the logit, mapped so that a
// larger logit has a larger key; its lower half is the complement of the id, so that of equal
// logits the lowest id has the largest key. The CPU sorts all tokens. Here the block sorts a batch
// of at most 2048 tokens with the largest keys, which nearly always includes the drawn one. If it
// does not, the block sorts the batch of the next tokens, and so on.
#include "core/kernels/sampling/cuda/draw.cuh"

#include <algorithm>
#include <cmath>

#include "core/kernels/shared/cuda/launch.cuh"
#include "core/kernels/shared/cuda/ptx.cuh"

namespace reprise::kernels::cuda {
namespace {

constexpr int kMostThreads = 1024;
constexpr int kMostWarps = kMostThreads / kWarp;
constexpr int kIdBits = 32, kKeyBits = 64;
constexpr int kDigitBits = 11;
constexpr int kBins = 1 << kDigitBits;
constexpr int kHighestDigit = kKeyBits - kDigitBits;  // its shift
// Tokens of a batch: at most kMostListed, at least kFewListed unless fewer are left.
constexpr int kMostListed = 2048, kFewListed = kMostListed / 4;
constexpr uint64_t kAboveAll = ~uint64_t{0};  // larger than the key of any logit but NaN

__device__ __forceinline__ int32_t id_of(uint64_t key) {
  return static_cast<int32_t>(~static_cast<unsigned>(key));
}
__device__ __forceinline__ uint64_t key_of(int32_t id, float logit) {
  const unsigned bits = __float_as_uint(logit + 0.0f);  // -0 is 0
  const unsigned ascending = bits ^ ((bits >> 31) != 0 ? 0xffffffffu : 0x80000000u);
  return static_cast<uint64_t>(ascending) << kIdBits | ~static_cast<unsigned>(id);
}

// The tokens of one row. A token's weight is proportional to its probability. The best token has
// weight 1.
struct Row {
  const float* logits;
  int32_t vocab;
  double top, temperature;

  [[nodiscard]] __device__ __forceinline__ double weight(float logit) const {
    return exp((static_cast<double>(logit) - top) / temperature);
  }
  [[nodiscard]] __device__ __forceinline__ double weight_of(uint64_t key) const {
    return weight(logits[id_of(key)]);
  }
  // Calls use(id, logit) for the thread's tokens, in ascending order. Loads several at a time.
  template <typename Use>
  __device__ __forceinline__ void for_own(Use&& use) const {
    constexpr int kAtOnce = 8;
    const auto step = static_cast<int32_t>(blockDim.x);
    for (auto first = static_cast<int32_t>(threadIdx.x); first < vocab; first += kAtOnce * step) {
      float of[kAtOnce];
      REPRISE_UNROLL
      for (int i = 0; i < kAtOnce; ++i) of[i] = logits[min(first + i * step, vocab - 1)];
      REPRISE_UNROLL
      for (int i = 0; i < kAtOnce; ++i)
        if (first + i * step < vocab) use(first + i * step, of[i]);
    }
  }
};

// ---- Results of all threads of the block ----

// Returns the sum of the values of the warp's lanes up to this one.
template <typename T>
__device__ __forceinline__ T up_to_lane(T value) {
  const unsigned lane = threadIdx.x % kWarp;
  for (unsigned lanes = 1; lanes < kWarp; lanes *= 2) {
    const T below = __shfl_up_sync(kAllLanes, value, lanes);
    if (lane >= lanes) value += below;
  }
  return value;
}

template <typename T>
struct UpToThread {
  T before{};  // the sum of the threads before this one
  T all{};     // the sum of all threads
};

// Sums the values of all threads, always in the same order. Before the next call for the same type,
// the threads must have synchronized.
template <typename T>
__device__ UpToThread<T> up_to_thread(T value) {
  REPRISE_SHARED(T[kMostWarps], of_warps);
  const unsigned warp = threadIdx.x / kWarp, lane = threadIdx.x % kWarp;
  const T own = up_to_lane(value);
  const T before_in_warp = __shfl_up_sync(kAllLanes, own, 1);
  if (lane == kWarp - 1) of_warps[warp] = own;
  __syncthreads();
  UpToThread<T> sums;
  for (unsigned w = 0; w < blockDim.x / kWarp; ++w) {
    if (w == warp) sums.before = sums.all;
    sums.all += of_warps[w];
  }
  if (lane > 0) sums.before += before_in_warp;
  return sums;
}

// Returns the largest of all threads' values.
__device__ uint64_t largest_of(uint64_t value) {
  REPRISE_SHARED(uint64_t[kMostWarps], of_warps);
  for (int lanes = kWarp / 2; lanes > 0; lanes /= 2) {
    const uint64_t other = __shfl_xor_sync(kAllLanes, value, lanes);
    if (other > value) value = other;
  }
  if (threadIdx.x % kWarp == 0) of_warps[threadIdx.x / kWarp] = value;
  __syncthreads();
  for (unsigned w = 0; w < blockDim.x / kWarp; ++w)
    if (of_warps[w] > value) value = of_warps[w];
  return value;
}

// ---- Batches of sorted tokens ----

// Shared memory of a block.
struct Room {
  unsigned bins[kBins];
  uint64_t keys[kMostListed];
  double sums[kMostListed];
  unsigned listed;
  int found;  // kMostListed minus the least index found; 0: none
};

// Some tokens, by descending keys, which follow one another in the order of all tokens.
struct Batch {
  uint64_t least = kAboveAll;  // its tokens have keys from here on
  int32_t first = 0;           // number of tokens before them
  int32_t count = 0;
  double mass_before = 0.0, mass = 0.0;  // weight of all tokens before the batch, or up to its end
};

class Batches {
 public:
  __device__ Batches(const Row& row, Room& room) : row_(row), room_(room) {}

  __device__ void clear_bins() {
    for (unsigned b = threadIdx.x; b < kBins; b += blockDim.x) room_.bins[b] = 0;
    __syncthreads();
  }
  __device__ __forceinline__ void count(uint64_t key, int shift) {
    atomicAdd(&room_.bins[static_cast<unsigned>(key >> shift) & (kBins - 1)], 1u);
  }

  // Goes to the first batch, which has the tokens with the largest keys. Before the call, room.bins
  // must hold the number of keys for each value of a key's highest digit (see count()). Returns the
  // sum of all tokens' weights if `sums_all`, otherwise 0.
  __device__ double begin(bool sums_all) {
    now_ = {};
    return list(least_of_next(/*has_bins=*/true), sums_all);
  }
  __device__ void rewind() {
    if (now_.first == 0) return;
    now_ = {};
    list(least_of_next(/*has_bins=*/false), /*sums_all=*/false);
  }
  __device__ void advance() { list(least_of_next(/*has_bins=*/false), /*sums_all=*/false); }

  [[nodiscard]] __device__ const Batch& now() const { return now_; }
  // Token i of the batch, and the mass up to it.
  [[nodiscard]] __device__ uint64_t key(int32_t i) const { return room_.keys[i]; }
  [[nodiscard]] __device__ double mass(int32_t i) const { return room_.sums[i]; }
  [[nodiscard]] __device__ bool is_last() const {
    return now_.first + now_.count == row_.vocab || row_.weight_of(key(now_.count - 1)) == 0.0;
  }

  // Returns the batch's first token for which is_reached(mass of all tokens up to it) is true, or
  // -1 if there is none.
  template <typename IsReached>
  __device__ int32_t first_that(IsReached&& is_reached) {
    __syncthreads();  // the previous result has been read
    if (threadIdx.x == 0) room_.found = 0;
    __syncthreads();
    // Rounding may make the mass fall from one token to the next, so is_reached() may become true
    // at several tokens. The first of them is taken.
    for (auto i = static_cast<int32_t>(threadIdx.x); i < now_.count;
         i += static_cast<int32_t>(blockDim.x))
      if (is_reached(mass(i)) && (i == 0 || !is_reached(mass(i - 1))))
        atomicMax(&room_.found, kMostListed - i);
    __syncthreads();
    return room_.found == 0 ? -1 : kMostListed - room_.found;
  }

 private:
  // Returns the least key of the batch that follows the current one. Counts tokens by the digits of
  // their keys, the highest digit first, and looks at the next digit only if the tokens with larger
  // digits are too few. The fifth digit is always enough, because at most 512 tokens are in a bin
  // there.
  __device__ uint64_t least_of_next(bool has_bins) {
    const uint64_t before = now_.least;
    uint64_t prefix = 0, mask = 0;
    int32_t taken = 0;
    for (int shift = kHighestDigit;; shift -= kDigitBits) {
      if (!has_bins || mask != 0) {
        clear_bins();
        row_.for_own([&](int32_t id, float logit) {
          const uint64_t key = key_of(id, logit);
          if (key < before && (key & mask) == prefix) count(key, shift);
        });
        __syncthreads();
      }
      const int bin = first_bin_beyond(taken);
      if (bin < 0) return prefix;
      if (taken >= kFewListed) return prefix + (static_cast<uint64_t>(bin + 1) << shift);
      prefix |= static_cast<uint64_t>(bin) << shift;
      mask |= uint64_t{kBins - 1} << shift;
    }
  }

  // Adds the bins to `taken`, from the highest on, as long as at most kMostListed tokens are taken.
  // Returns the first bin that is not added, or -1.
  __device__ int first_bin_beyond(int32_t& taken) {
    REPRISE_SHARED(int32_t[2], result);
    if (threadIdx.x == 0) result[0] = -1;
    const int per_thread =
        (kBins + static_cast<int>(blockDim.x) - 1) / static_cast<int>(blockDim.x);
    const int last = kBins - 1 - static_cast<int>(threadIdx.x) * per_thread;
    int32_t own = 0;
    for (int b = last; b > last - per_thread && b >= 0; --b)
      own += static_cast<int32_t>(room_.bins[b]);
    const UpToThread<int32_t> sums = up_to_thread(own);
    int32_t so_far = taken + sums.before;
    for (int b = last; b > last - per_thread && b >= 0; --b) {
      const auto in_bin = static_cast<int32_t>(room_.bins[b]);
      if (so_far <= kMostListed && so_far + in_bin > kMostListed) {
        result[0] = b;
        result[1] = so_far;
      }
      so_far += in_bin;
    }
    __syncthreads();
    taken = result[0] < 0 ? taken + sums.all : result[1];
    return result[0];
  }

  // Goes to the next batch: the tokens that follow the current batch and have keys of at least
  // `least`. Returns the sum of all tokens' weights if `sums_all`.
  __device__ double list(uint64_t least, bool sums_all) {
    const uint64_t before = now_.least;
    if (threadIdx.x == 0) room_.listed = 0;
    __syncthreads();
    double all = 0.0;
    row_.for_own([&](int32_t id, float logit) {
      const uint64_t key = key_of(id, logit);
      if (least <= key && key < before) room_.keys[atomicAdd(&room_.listed, 1u)] = key;
      if (sums_all) all += row_.weight(logit);
    });
    if (sums_all) all = up_to_thread(all).all;
    __syncthreads();
    now_ = {.least = least,
            .first = now_.first + now_.count,
            .count = static_cast<int32_t>(room_.listed),
            .mass_before = now_.mass};
    sort();
    sum_masses();
    return all;
  }

  // Bitonic sort of the listed keys, descending. Keys of 0 fill up their number to a power of two.
  __device__ void sort() {
    unsigned size = 1;
    while (size < static_cast<unsigned>(now_.count)) size *= 2;
    for (unsigned i = static_cast<unsigned>(now_.count) + threadIdx.x; i < size; i += blockDim.x)
      room_.keys[i] = 0;
    for (unsigned run = 2; run <= size; run *= 2)
      for (unsigned distance = run / 2; distance > 0; distance /= 2) {
        __syncthreads();
        for (unsigned i = threadIdx.x; i < size / 2; i += blockDim.x) {
          const unsigned low = 2 * i - (i & (distance - 1)), high = low + distance;
          const uint64_t a = room_.keys[low], b = room_.keys[high];
          if ((a < b) != ((low & run) == 0)) continue;
          room_.keys[low] = b;
          room_.keys[high] = a;
        }
      }
    __syncthreads();
  }

  __device__ void sum_masses() {
    const int per_thread =
        (now_.count + static_cast<int>(blockDim.x) - 1) / static_cast<int>(blockDim.x);
    const int first = static_cast<int>(threadIdx.x) * per_thread,
              end = min(first + per_thread, now_.count);
    double own = 0.0;
    for (int i = first; i < end; ++i) {
      own += row_.weight_of(room_.keys[i]);
      room_.sums[i] = own;
    }
    const UpToThread<double> sums = up_to_thread(own);
    for (int i = first; i < end; ++i) room_.sums[i] += now_.mass_before + sums.before;
    __syncthreads();
    now_.mass = room_.sums[now_.count - 1];
  }

  const Row& row_;
  Room& room_;
  Batch now_;
};

// ---- Draws ----

struct Found {
  uint64_t key = 0;
  double mass = 0.0;  // of the tokens up to this one
};

// Returns the first token for which is_reached(mass of all tokens up to it) is true. If there is
// none, which rounding of sums can cause, returns the last token that still increases the sum.
template <typename IsReached>
__device__ Found find(Batches& batches, IsReached&& is_reached) {
  batches.rewind();
  Found last;
  for (;; batches.advance()) {
    const int32_t i = batches.first_that(is_reached);
    if (i >= 0) return {batches.key(i), batches.mass(i)};
    const double most = batches.now().mass;
    if (most > batches.now().mass_before)
      last = {batches.key(batches.first_that([=](double mass) { return mass >= most; })), most};
    if (batches.is_last()) return last;
  }
}

// Returns the mass of the `count` tokens with the largest keys.
__device__ double mass_of_first(Batches& batches, int32_t count) {
  while (batches.now().first + batches.now().count < count) batches.advance();
  return batches.mass(count - 1 - batches.now().first);
}

__device__ uint64_t draw_key(const Row& row, const SampleRule& rule, Batches& batches) {
  const bool is_cut = 0 < rule.top_k && rule.top_k < row.vocab;
  double kept = batches.begin(/*sums_all=*/!is_cut);
  if (is_cut) kept = mass_of_first(batches, rule.top_k);
  if (rule.top_p < 1.0) {
    const double wanted = rule.top_p * kept;
    kept = find(batches, [=](double mass) { return mass >= wanted; }).mass;
  }
  const double wanted = rule.unit * kept;
  return find(batches, [=](double mass) { return mass > wanted; }).key;
}

// Grid: one block for each draw. Block: one thread per token, up to 1024. Shared memory: 41 KiB.
// Reads a row of 4 vocab bytes once; unless the rule is greedy, reads it again from L2 at least
// once for each batch of sorted tokens, and computes an exponential in double for each token if
// there is no top_k. The exponentials take the most time.
__global__ void __launch_bounds__(kMostThreads, 1) draw_rows(const DrawTokens call) {
  REPRISE_SHARED(Room, room);
  const SampleRule rule = call.rules[blockIdx.x];
  Row row{.logits = call.logits + rule.row * call.vocab,
          .vocab = call.vocab,
          .top = 0.0,
          .temperature = rule.temperature};
  Batches batches(row, room);
  const bool is_greedy = rule.temperature == 0.0 || rule.top_k == 1;
  if (!is_greedy) batches.clear_bins();
  uint64_t best = 0;
  row.for_own([&](int32_t id, float logit) {
    const uint64_t key = logit == logit ? key_of(id, logit) : kAboveAll;
    if (key > best) best = key;
    if (!is_greedy) batches.count(key, kHighestDigit);
  });
  best = largest_of(best);
  uint64_t key = best;
  if (!is_greedy && best != kAboveAll) {
    row.top = static_cast<double>(row.logits[id_of(best)]);
    if (fabs(row.top) < INFINITY) key = draw_key(row, rule, batches);
  }
  if (threadIdx.x == 0)
    call.tokens[blockIdx.x] = best == kAboveAll ? SampleCall::kNotANumber : id_of(key);
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
