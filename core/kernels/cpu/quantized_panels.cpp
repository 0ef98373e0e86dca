#include "core/kernels/cpu/quantized_panels.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "core/kernels/cpu/coded_rows.h"
#include "core/kernels/cpu/product_onednn.h"
#include "core/kernels/cpu/quantize.h"
#include "core/kernels/cpu/tiled_product.h"

namespace reprise::kernels::cpu {
namespace {

constexpr int64_t round_up(int64_t value, int64_t unit) { return (value + unit - 1) / unit * unit; }
constexpr int64_t kUnitInputs = kStepInputs * kUnitSteps;

size_t step_bytes(WeightFormat format) {
  return static_cast<size_t>(kStepInputs * kPanelOutputs) / (format == WeightFormat::kInt8 ? 1 : 2);
}

void require_finite(std::span<const float> values, int64_t row, WeightFormat format) {
  for (size_t i = 0; i < values.size(); ++i)
    if (!std::isfinite(values[i]))
      throw NotFiniteError(fmt::format("row {}, column {} is {}, for which {} has no code", row, i,
                                       values[i], name_of(format)));
}

// The codes of eight inputs of an output as QuantizedPanel has them.
uint32_t packed(const uint8_t* codes) {
  uint32_t word = 0;
  for (int i = 0; i < kStepInputs; ++i)
    word |= static_cast<uint32_t>(codes[i]) << (16 * (i % 2) + 4 * (i / 2));
  return word;
}

// The code at (step, input of it, output) of a panel.
int code_at(const QuantizedPanel& panel, int64_t step, int input, int64_t output) {
  if (panel.format == WeightFormat::kInt8)
    return static_cast<const int8_t*>(
        panel.codes)[(step * kStepInputs + input) * kPanelOutputs + output];
  const uint32_t word = static_cast<const uint32_t*>(panel.codes)[step * kPanelOutputs + output];
  return static_cast<int>((word >> (16 * (input % 2) + 4 * (input / 2))) & 15u);
}

float scale_at(const QuantizedPanel& panel, int64_t group, int64_t output) {
  const int64_t at = group * kPanelOutputs + output;
  if (panel.scales != nullptr) return panel.scales[at];
  return std::fma(static_cast<float>(panel.scale_codes[at]),
                  panel.scale_steps[group / kScaleBlockGroups], panel.scale_mean);
}

}  // namespace

// Makes the codes of panels, each thread with room of its own.
class QuantizedPanels::Filler {
 public:
  Filler(QuantizedPanels& store, const Weight::FillRows& fill, const Context& context)
      : store_(store), fill_(fill), rooms_(static_cast<size_t>(std::max(1, context.threads))) {
    const auto inputs = static_cast<size_t>(store.steps_ * kStepInputs);
    for (Room& room : rooms_) {
      room.values = AlignedBuffer(static_cast<size_t>(kPanelOutputs * store.cols()) * sizeof(float));
      room.codes = AlignedBuffer(static_cast<size_t>(kPanelOutputs) * inputs);
    }
  }

  void fill_panel(int64_t index, int worker) {
    Room& room = rooms_[static_cast<size_t>(worker)];
    const int64_t first = index * kPanelOutputs;
    const int64_t end = std::min(store_.rows(), first + kPanelOutputs);
    const int64_t inputs = store_.steps_ * kStepInputs;
    fill_(first, end, room.values.data());
    auto* codes = room.codes.as<uint8_t>();
    std::memset(codes, 0, room.codes.bytes());
    for (int64_t row = first; row < end; ++row) {
      const std::span values(room.values.as<float>() + (row - first) * store_.cols(),
                             static_cast<size_t>(store_.cols()));
      require_finite(values, row, store_.format());
      fill_row(index, row - first, values, codes + (row - first) * inputs);
    }
    pack(codes, static_cast<char*>(store_.codes_.data()) +
                    static_cast<size_t>(index * store_.steps_) * step_bytes(store_.format()));
  }

 private:
  struct Room {
    AlignedBuffer values;  // [64][cols] f32
    AlignedBuffer codes;   // [64][8 steps], a byte each
  };

  void fill_row(int64_t index, int64_t output, std::span<const float> values, uint8_t* codes) {
    const int64_t group_length = store_.group_steps_ * kStepInputs;
    for (int64_t group = 0; group < store_.groups_; ++group) {
      const auto first = static_cast<size_t>(group * group_length);
      const auto length = std::min(static_cast<size_t>(group_length), values.size() - first);
      const GroupScale scale =
          quantize_group(store_.format(), values.subspan(first, length), codes + first);
      const int64_t at = (index * store_.groups_ + group) * kPanelOutputs + output;
      static_cast<float*>(store_.scales_.data())[at] = scale.scale;
      if (!store_.minimums_.empty())
        static_cast<float*>(store_.minimums_.data())[at] = scale.minimum;
    }
  }

  void pack(const uint8_t* codes, void* panel) const {
    const int64_t inputs = store_.steps_ * kStepInputs;
    if (store_.format() == WeightFormat::kInt8) {
      auto* bytes = static_cast<uint8_t*>(panel);
      for (int64_t k = 0; k < inputs; ++k)
        for (int64_t output = 0; output < kPanelOutputs; ++output)
          bytes[k * kPanelOutputs + output] = codes[output * inputs + k];
      return;
    }
    auto* words = static_cast<uint32_t*>(panel);
    for (int64_t step = 0; step < store_.steps_; ++step)
      for (int64_t output = 0; output < kPanelOutputs; ++output)
        words[step * kPanelOutputs + output] =
            packed(codes + output * inputs + step * kStepInputs);
  }

  QuantizedPanels& store_;
  const Weight::FillRows& fill_;
  std::vector<Room> rooms_;
};

QuantizedPanels::QuantizedPanels(int64_t rows, int64_t cols, WeightType type,
                                 const Weight::FillRows& fill, const Context& context)
    : WeightStore(rows, cols, type, context.device),
      steps_(round_up(cols, kUnitInputs) / kStepInputs) {
  const int64_t group = group_inputs(type.format, cols);
  group_steps_ = group == cols ? steps_ : group / kStepInputs;
  groups_ = (steps_ + group_steps_ - 1) / group_steps_;
  scale_blocks_ = (groups_ + kScaleBlockGroups - 1) / kScaleBlockGroups;
  const auto num_panels = static_cast<size_t>(panels());
  const size_t scale_bytes =
      num_panels * static_cast<size_t>(groups_ * kPanelOutputs) * sizeof(float);
  codes_ = Buffer(context.device,
                  num_panels * static_cast<size_t>(steps_) * step_bytes(type.format));
  scales_ = Buffer(context.device, scale_bytes);
  if (type.format == WeightFormat::kInt4) minimums_ = Buffer(context.device, scale_bytes);
  Filler filler(*this, fill, context);
  parallel_for(context, panels(),
               [&](int64_t index, int worker) { filler.fill_panel(index, worker); });
  if (type.format == WeightFormat::kNf4Double) quantize_scales();
}

void QuantizedPanels::quantize_scales() {
  const auto* scales = static_cast<const float*>(scales_.data());
  const auto of_panel = static_cast<size_t>(groups_ * kPanelOutputs);
  // Outputs and inputs that pad the matrix have no scales: their zeros would move the mean.
  double sum = 0.0;
  for (int64_t row = 0; row < rows(); ++row)
    for (int64_t group = 0; group < groups_; ++group)
      sum += static_cast<double>(
          scales[(row / kPanelOutputs * groups_ + group) * kPanelOutputs + row % kPanelOutputs]);
  scale_mean_ = static_cast<float>(sum / static_cast<double>(rows() * groups_));
  scale_codes_ = Buffer(device(), static_cast<size_t>(panels()) * of_panel);
  scale_steps_ =
      Buffer(device(), static_cast<size_t>(panels() * scale_blocks_) * sizeof(float));
  auto* codes = static_cast<int8_t*>(scale_codes_.data());
  auto* steps = static_cast<float*>(scale_steps_.data());
  std::vector<float> block;
  for (int64_t index = 0; index < panels(); ++index)
    for (int64_t b = 0; b < scale_blocks_; ++b) {
      const auto first = static_cast<size_t>(b * kScaleBlockGroups * kPanelOutputs);
      const size_t count =
          std::min(static_cast<size_t>(kScaleBlockGroups * kPanelOutputs), of_panel - first);
      const size_t at = static_cast<size_t>(index) * of_panel + first;
      block.assign(scales + at, scales + at + count);
      const int64_t wanted = std::min(kPanelOutputs, rows() - index * kPanelOutputs);
      for (size_t i = 0; i < count; ++i)
        if (static_cast<int64_t>(i) % kPanelOutputs >= wanted) block[i] = scale_mean_;
      steps[index * scale_blocks_ + b] =
          cpu::quantize_scales(block, scale_mean_, codes + at).step;
    }
  scales_ = Buffer();
}

size_t QuantizedPanels::bytes() const {
  return codes_.bytes() + scales_.bytes() + minimums_.bytes() + scale_codes_.bytes() +
         scale_steps_.bytes();
}

QuantizedPanel QuantizedPanels::panel(int64_t index) const {
  const int64_t scale = index * groups_ * kPanelOutputs;
  const auto floats = [](const Buffer& buffer, int64_t at) {
    return buffer.empty() ? nullptr : static_cast<const float*>(buffer.data()) + at;
  };
  return {.format = format(),
          .steps = steps_,
          .group_steps = group_steps_,
          .codes = static_cast<const char*>(codes_.data()) +
                   static_cast<size_t>(index * steps_) * step_bytes(format()),
          .scales = floats(scales_, scale),
          .minimums = floats(minimums_, scale),
          .scale_codes = scale_codes_.empty()
                             ? nullptr
                             : static_cast<const int8_t*>(scale_codes_.data()) + scale,
          .scale_steps = floats(scale_steps_, index * scale_blocks_),
          .scale_mean = scale_mean_};
}

float QuantizedPanels::value_at(int64_t row, int64_t col) const {
  const QuantizedPanel of_row = panel(row / kPanelOutputs);
  const int64_t step = col / kStepInputs, output = row % kPanelOutputs;
  const int64_t group = step / group_steps_;
  const int code = code_at(of_row, step, static_cast<int>(col % kStepInputs), output);
  const float number = format() == WeightFormat::kInt8
                           ? static_cast<float>(code)
                           : code_values(format())[static_cast<size_t>(code)];
  const float minimum =
      of_row.minimums != nullptr ? of_row.minimums[group * kPanelOutputs + output] : 0.0f;
  return std::fma(scale_at(of_row, group, output), number, minimum);
}

void QuantizedPanels::read_block(int64_t first_row, int64_t end_row, int64_t first_col,
                                 int64_t end_col, float* out) const {
  for (int64_t row = first_row; row < end_row; ++row)
    for (int64_t col = first_col; col < end_col; ++col) *out++ = value_at(row, col);
}

void QuantizedPanels::apply(const LinearCall& call, int64_t first, int64_t end,
                            LinearWorkspace& workspace, const Context& context) const {
  const Outputs outputs{.first = first, .end = end};
  const bool has_many = takes_many_coded_rows(input_dtype(), context) && !product_uses_amx();
  if (call.m <= (has_many ? LinearCall::kManyCodedRows : LinearCall::kCodedRows))
    return stream(call, outputs, workspace, context);
  if (!multiply(call, outputs, workspace, context)) expand(call, outputs, workspace, context);
}

void QuantizedPanels::stream(const LinearCall& call, const Outputs& outputs,
                             LinearWorkspace& workspace, const Context& context) const {
  const CodedShape shape{.type = {format(), input_dtype()},
                         .cols = cols(),
                         .inputs = steps_ * kStepInputs,
                         .group_inputs = group_steps_ * kStepInputs};
  const CodedRows rows(call, shape, workspace, context);
  for_panels(context, outputs, panels_per_run(context, outputs),
             call.m * (outputs.end - outputs.first) * cols(),
             [&](int64_t index, int) { rows.run(index, outputs, panel(index)); });
}

void QuantizedPanels::expand_to(int64_t index, void* out, Isa isa) const {
  const int64_t words = panel_words(cols(), input_dtype());
  const bool is_bf16 = input_dtype() == DType::kBF16;
  expand_panel(panel(index), words * (is_bf16 ? 2 : 1), input_dtype(), out, isa);
  // Inputs beyond the matrix' are zeros, whatever their code stands for: a product may read them.
  auto* rows = static_cast<uint32_t*>(out);
  int64_t filled = cols();  // words
  if (is_bf16) {
    filled = cols() / 2;
    if (cols() % 2 != 0) {
      for (int64_t i = 0; i < kPanelOutputs; ++i) rows[filled * kPanelOutputs + i] &= 0xffffu;
      ++filled;
    }
  }
  std::memset(rows + filled * kPanelOutputs, 0,
              static_cast<size_t>((words - filled) * kPanelOutputs) * sizeof(uint32_t));
}

void QuantizedPanels::expand(const LinearCall& call, const Outputs& outputs,
                             LinearWorkspace& workspace, const Context& context) const {
  const PanelRows rows(call, cols(), input_dtype(), workspace, context);
  const auto panel_bytes =
      static_cast<size_t>(panel_words(cols(), input_dtype()) * kPanelOutputs) * sizeof(uint32_t);
  workspace.expanded.resize(
      std::max(workspace.expanded.size(), static_cast<size_t>(std::max(1, context.threads))));
  const auto run_panel = [&](int64_t index, int worker) {
    AlignedBuffer& weights = workspace.expanded[static_cast<size_t>(worker)];
    if (weights.bytes() < panel_bytes) weights = AlignedBuffer(panel_bytes);
    expand_to(index, weights.data(), context.isa);
    rows.run(index, outputs, weights.data(), weights.data());
  };
  for_panels(context, outputs, /*run=*/1, call.m * (outputs.end - outputs.first) * cols(),
             run_panel);
}

bool QuantizedPanels::multiply(const LinearCall& call, const Outputs& outputs,
                               LinearWorkspace& workspace, const Context& context) const {
  const DType dtype = input_dtype();
  if (context.isa < (dtype == DType::kBF16 ? Isa::kAvx512Bf16 : Isa::kAvx512)) return false;
  if (outputs.first % kPanelOutputs != 0) return false;  // a product begins at a panel
  const TiledProduct product(
      call, {.n = outputs.end - outputs.first, .k = cols(), .dtype = dtype, .are_made = true},
      *workspace.products);
  if (!product.is_fast()) return false;
  const auto workers = static_cast<size_t>(std::max(1, context.threads));
  workspace.tiles.resize(std::max(workspace.tiles.size(), workers));
  workspace.expanded.resize(std::max(workspace.expanded.size(), workers));
  parallel_for(context, product.output_tiles(), [&](int64_t tile, int worker) {
    const auto w = static_cast<size_t>(worker);
    multiply_tile(product, tile, outputs.first_panel(), workspace.expanded[w], workspace.tiles[w],
                  context.isa);
  });
  return true;
}

void QuantizedPanels::multiply_tile(const TiledProduct& product, int64_t output_tile,
                                    int64_t first_panel, AlignedBuffer& weights,
                                    AlignedBuffer& scratch, Isa isa) const {
  const int64_t first_tile = output_tile * product.row_tiles();
  const int64_t panel_of_tile = first_panel + product.first_output(first_tile) / kPanelOutputs;
  const int64_t count =
      (product.outputs_of(first_tile) + kPanelOutputs - 1) / kPanelOutputs;
  const auto panel_bytes =
      static_cast<size_t>(panel_words(cols(), input_dtype()) * kPanelOutputs) * sizeof(uint32_t);
  const size_t needed = static_cast<size_t>(count) * panel_bytes;
  if (weights.bytes() < needed) weights = AlignedBuffer(needed);
  for (int64_t i = 0; i < count; ++i)
    expand_to(panel_of_tile + i, weights.as<char>() + static_cast<size_t>(i) * panel_bytes, isa);
  for (int64_t row = 0; row < product.row_tiles(); ++row)
    product.run(first_tile + row, weights.data(), scratch);
}

}  // namespace reprise::kernels::cpu
