#include "core/kernels/linear/cpu/product_onednn.h"

#include <dnnl.hpp>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "core/base/error.h"
#include "core/device/one_omp_thread.h"

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

// Throws dnnl::error if no implementation accepts the shape.
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

struct Product::Primitive {
  dnnl::matmul matmul;
  memory::desc x, w, bias, out, scratchpad;
  bool has_bias = false;
};

Product::Product(std::unique_ptr<const Primitive> primitive) : primitive_(std::move(primitive)) {}
Product::~Product() = default;

size_t Product::scratchpad_bytes() const { return primitive_->scratchpad.get_size(); }

void Product::run(const void* x, const void* w, const float* bias, void* out,
                  void* scratchpad) const {
  const OneOmpThread setting;
  const auto wrap = [](const memory::desc& desc, const void* data) {
    return memory(desc, cpu_engine(), const_cast<void*>(data));
  };
  const Primitive& p = *primitive_;
  std::unordered_map<int, memory> arguments = {
      {DNNL_ARG_SRC, wrap(p.x, x)},
      {DNNL_ARG_WEIGHTS, wrap(p.w, w)},
      {DNNL_ARG_DST, wrap(p.out, out)},
      {DNNL_ARG_SCRATCHPAD, wrap(p.scratchpad, scratchpad)}};
  if (p.has_bias) arguments.emplace(DNNL_ARG_BIAS, wrap(p.bias, bias));
  thread_local dnnl::stream stream(cpu_engine());
  p.matmul.execute(stream, arguments);
  stream.wait();
}

std::shared_ptr<const Product> make_product(const ProductShape& shape) {
  const OneOmpThread setting;
  try {
    const dnnl::matmul::primitive_desc described = describe(shape);
    // oneDNN's reference implementation accepts every shape, but runs at a hundredth of the speed
    // of the others.
    if (std::string_view(described.impl_info_str()).find("ref") != std::string_view::npos)
      return nullptr;
    auto primitive = std::make_unique<Product::Primitive>();
    primitive->matmul = dnnl::matmul(described);
    primitive->x = described.src_desc();
    primitive->w = described.weights_desc();
    if (shape.has_bias) primitive->bias = described.bias_desc();
    primitive->out = described.dst_desc();
    primitive->scratchpad = described.scratchpad_desc();
    primitive->has_bias = shape.has_bias;
    return std::make_shared<const Product>(std::move(primitive));
  } catch (const dnnl::error& error) {
    if (error.status == dnnl_unimplemented) return nullptr;
    raise("oneDNN failed to make a {} x {} x {} product: {}", shape.m, shape.n, shape.k,
          error.what());
  }
}

bool products_are_built_in() { return true; }

bool product_uses_amx() {
  // The bits of an instruction set include those of the sets that it contains.
  static const bool uses = [] {
    constexpr auto kAmx = static_cast<unsigned>(dnnl::cpu_isa::avx512_core_amx);
    return (static_cast<unsigned>(dnnl::get_effective_cpu_isa()) & kAmx) == kAmx;
  }();
  return uses;
}

}  // namespace reprise::kernels::cpu
