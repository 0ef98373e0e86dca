#include "core/kernels/cpu/product_onednn.h"

#include <omp.h>

#include <dnnl.hpp>
#include <list>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "core/base/error.h"

namespace reprise::kernels::cpu {
namespace {

using dnnl::memory;

dnnl::engine& cpu_engine() {
  static dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

memory::data_type type_of(DType dtype) {
  return dtype == DType::kF32    ? memory::data_type::f32
         : dtype == DType::kBF16 ? memory::data_type::bf16
                                 : memory::data_type::f16;
}

// Throws dnnl::error when no implementation takes the shape.
dnnl::matmul::primitive_desc describe(const ProductShape& s) {
  const memory::desc x({s.m, s.k}, type_of(s.dtype), memory::format_tag::ab);
  const memory::desc w(
      {s.k, s.n}, type_of(s.dtype),
      s.dtype == DType::kF32 ? memory::format_tag::BA16a64b : memory::format_tag::BA16a64b2a);
  const memory::desc bias({1, s.n}, memory::data_type::f32, memory::format_tag::ab);
  const memory::desc out({s.m, s.n}, type_of(s.out_dtype), memory::format_tag::ab);
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  if (s.accumulate) {
    dnnl::post_ops sum;
    sum.append_sum(1.0f);
    attributes.set_post_ops(sum);
  }
#if DNNL_VERSION_MAJOR >= 3
  return s.has_bias ? dnnl::matmul::primitive_desc(cpu_engine(), x, w, bias, out, attributes)
                    : dnnl::matmul::primitive_desc(cpu_engine(), x, w, out, attributes);
#else
  const dnnl::matmul::desc operation =
      s.has_bias ? dnnl::matmul::desc(x, w, bias, out) : dnnl::matmul::desc(x, w, out);
  return {operation, attributes, cpu_engine()};
#endif
}

}  // namespace

struct ProductCache::Entry {
  bool is_fast = false;
  dnnl::matmul primitive;
  memory::desc x, w, bias, out, scratchpad;
};

struct ProductCache::State {
  struct Hash {
    size_t operator()(const ProductShape& s) const {
      size_t h = 0;
      for (const int64_t value :
           {s.m, s.n, s.k,
            static_cast<int64_t>(s.dtype) * 64 + static_cast<int64_t>(s.out_dtype) * 4 +
                (s.has_bias ? 2 : 0) + (s.accumulate ? 1 : 0)})
        h = (h ^ static_cast<size_t>(value)) * 0x9e3779b97f4a7c15u;
      return h ^ (h >> 32);
    }
  };
  using Entries = std::list<std::pair<ProductShape, Entry>>;

  // The entry of a shape, made if it is new.
  Entry& at(const ProductShape& shape);

  size_t capacity;
  Entries entries;  // the most recently used first
  std::unordered_map<ProductShape, Entries::iterator, Hash> places;
};

ProductCache::Entry& ProductCache::State::at(const ProductShape& shape) {
  if (const auto found = places.find(shape); found != places.end()) {
    entries.splice(entries.begin(), entries, found->second);
    return found->second->second;
  }
  Entry entry = make_entry(shape);  // may throw: nothing has changed then
  if (entries.size() == capacity) {
    places.erase(entries.back().first);
    entries.pop_back();
  }
  entries.emplace_front(shape, std::move(entry));
  places.emplace(shape, entries.begin());
  return entries.front().second;
}

ProductCache::ProductCache(size_t capacity) : state_(std::make_unique<State>()) {
  REPRISE_CHECK(capacity > 0);
  state_->capacity = capacity;
}
ProductCache::~ProductCache() = default;
size_t ProductCache::size() const { return state_->entries.size(); }
bool ProductCache::holds(const ProductShape& shape) const { return state_->places.contains(shape); }

// Where oneDNN has no fast implementation, the entry says so.
ProductCache::Entry ProductCache::make_entry(const ProductShape& shape) {
  Entry entry;
  try {
    const dnnl::matmul::primitive_desc described = describe(shape);
    // The reference implementation accepts everything, at a hundredth of the speed.
    if (std::string_view(described.impl_info_str()).find("ref") != std::string_view::npos)
      return entry;
    entry.is_fast = true;
    entry.primitive = dnnl::matmul(described);
    entry.x = described.src_desc();
    entry.w = described.weights_desc();
    if (shape.has_bias) entry.bias = described.bias_desc();
    entry.out = described.dst_desc();
    entry.scratchpad = described.scratchpad_desc();
  } catch (const dnnl::error& error) {
    if (error.status != dnnl_unimplemented)
      raise("oneDNN failed to make a {} x {} x {} product: {}", shape.m, shape.n, shape.k,
            error.what());
    entry.is_fast = false;
  }
  return entry;
}

bool ProductCache::run(const ProductShape& shape, const void* x, const void* w, const float* bias,
                       void* out, AlignedBuffer& scratchpad, int threads) {
  omp_set_num_threads(threads);  // oneDNN takes the calling thread's setting
  const Entry& entry = state_->at(shape);
  if (!entry.is_fast) return false;
  if (scratchpad.bytes() < entry.scratchpad.get_size())
    scratchpad = AlignedBuffer(entry.scratchpad.get_size());
  const auto wrap = [](const memory::desc& desc, const void* data) {
    return memory(desc, cpu_engine(), const_cast<void*>(data));
  };
  std::unordered_map<int, memory> arguments = {
      {DNNL_ARG_SRC, wrap(entry.x, x)},
      {DNNL_ARG_WEIGHTS, wrap(entry.w, w)},
      {DNNL_ARG_DST, wrap(entry.out, out)},
      {DNNL_ARG_SCRATCHPAD, wrap(entry.scratchpad, scratchpad.data())}};
  if (shape.has_bias) arguments.emplace(DNNL_ARG_BIAS, wrap(entry.bias, bias));
  dnnl::stream stream(cpu_engine());
  entry.primitive.execute(stream, arguments);
  stream.wait();
  return true;
}

}  // namespace reprise::kernels::cpu
