#include "core/kernels/disentangled/disentangled.h"

#include <algorithm>
#include <vector>

#include "core/base/error.h"
#include "core/device/buffer.h"
#include "core/kernels/disentangled/cpu/disentangled.h"

namespace reprise::kernels {
namespace {

// Returns the arguments of disentangled_head() for head `head` of a text. The caller sets the
// output fields.
cpu::DisentangledHead head_of(const DisentangledCall& call, const TextRows& text, int64_t head) {
  const int64_t at = text.first_row * call.row_stride + head * call.head_dim;
  const auto vectors_of = [&](const PositionVectors& vectors) {
    return vectors.data == nullptr ? nullptr : vectors.data + head * call.head_dim * vectors.stride;
  };
  return {.q = call.q + at,
          .k = call.k + at,
          .v = call.v + at,
          .row_stride = call.row_stride,
          .tokens = text.tokens(),
          .head_dim = call.head_dim,
          .scale = call.scale,
          .position_keys = vectors_of(call.keys),
          .position_queries = vectors_of(call.queries),
          .keys_stride = call.keys.stride,
          .queries_stride = call.queries.stride,
          .buckets = call.buckets.data() + call.buckets.size() / 2};
}

// For each head of each text, calls fn(work, text, head), which returns `work` with its output
// fields set, and runs disentangled_head() for the result.
template <typename Fn>
void for_heads(const DisentangledCall& call, DisentangledWorkspace& workspace,
               const Context& context, Fn&& fn) {
  require_device(context.device, "disentangled attention");
  int64_t longest = 0;
  for (const TextRows& text : call.texts) longest = std::max(longest, text.tokens());
  if (longest == 0) return;
  REPRISE_CHECK(std::ssize(call.buckets) >= 2 * longest - 1 && call.buckets.size() % 2 == 1,
                "{} buckets for texts of {} tokens", call.buckets.size(), longest);
  const int64_t span = call.buckets.back() - call.buckets.front() + 1;
  const size_t bytes = cpu::disentangled_scratch(longest, call.head_dim, span) * sizeof(float);
  auto& scratch = workspace.scratch;
  scratch.resize(std::max(scratch.size(), static_cast<size_t>(std::max(1, context.threads))));
  parallel_for(context, std::ssize(call.texts) * call.heads, [&](int64_t item, int worker) {
    const TextRows& text = call.texts[static_cast<size_t>(item / call.heads)];
    if (text.tokens() == 0) return;
    AlignedBuffer& own = scratch[static_cast<size_t>(worker)];
    if (own.bytes() < bytes) own = AlignedBuffer(bytes);
    cpu::disentangled_head(fn(head_of(call, text, item % call.heads), text, item % call.heads),
                           own.as<float>(), context.isa);
  });
}

}  // namespace

void DisentangledCall::run(const OutputView& out, DisentangledWorkspace& workspace,
                           const Context& context) const {
  for_heads(*this, workspace, context,
            [&](cpu::DisentangledHead head, const TextRows& text, int64_t index) {
              const int64_t at = (text.first_row * heads + index) * head_dim;
              head.out =
                  static_cast<char*>(out.data) + static_cast<size_t>(at) * size_of(out.dtype);
              head.out_dtype = out.dtype;
              head.out_stride = heads * head_dim;
              return head;
            });
}

void DisentangledCall::biases(float* out, int64_t rows, int64_t keys_per_row,
                              DisentangledWorkspace& workspace, const Context& context) const {
  for_heads(*this, workspace, context,
            [&](cpu::DisentangledHead head, const TextRows& text, int64_t index) {
              head.biases = out + (index * rows + text.first_row) * keys_per_row;
              head.bias_stride = keys_per_row;
              return head;
            });
}

}  // namespace reprise::kernels
