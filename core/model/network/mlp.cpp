#include "core/model/network/mlp.h"

#include "core/kernels/activation.h"

namespace reprise::model {
namespace {

kernels::ActivationKind kind_of(Activation activation) {
  switch (activation) {
    case Activation::kSilu:
      return kernels::ActivationKind::kSilu;
    case Activation::kGelu:
      return kernels::ActivationKind::kGelu;
    case Activation::kGeluTanh:
      return kernels::ActivationKind::kGeluTanh;
  }
  return kernels::ActivationKind::kSilu;
}

class DenseMlp final : public Mlp {
 public:
  explicit DenseMlp(Network& network) : network_(network) {}

  void prepare(int64_t rows) override {
    const ModelConfig& config = network_.config;
    grow(up_, rows, config.intermediate * (config.gated_mlp ? 2 : 1), network_.dtype);
    grow(activated_, rows, config.intermediate, network_.dtype);
  }

  void add(const PartSet& layer, const void* x, int64_t rows, float* residual) override {
    const ModelConfig& config = network_.config;
    network_.linear(layer[Part::kUp], x, rows, up_.data(), network_.dtype);
    kernels::ActivationCall{.kind = kind_of(config.activation),
                            .is_gated = config.gated_mlp,
                            .x = up_.data(),
                            .out = activated_.data(),
                            .dtype = network_.dtype,
                            .rows = rows,
                            .cols = config.intermediate}
        .run(network_.context);
    network_.linear(layer[Part::kDown], activated_.data(), rows, residual, DType::kF32,
                    /*accumulate=*/true);
  }

 private:
  Network& network_;
  AlignedBuffer up_;         // [rows, intermediate, twice if gated]
  AlignedBuffer activated_;  // [rows, intermediate]
};

}  // namespace

std::unique_ptr<Mlp> make_mlp(Network& network) { return std::make_unique<DenseMlp>(network); }

}  // namespace reprise::model
