#include "core/model/network/mlp.h"

#include "core/base/error.h"
#include "core/model/network/experts.h"
#include "core/model/network/feed_forward.h"

namespace reprise::model {
namespace {

class DenseMlp final : public Mlp {
 public:
  explicit DenseMlp(Network& network) : network_(network), feed_forward_(network) {}

  void prepare(int64_t rows) override { feed_forward_.prepare(rows, network_.config.intermediate); }
  void add(const PartSet& layer, const void* x, int64_t rows, float* residual) override {
    feed_forward_.run(layer[Part::kUp], layer[Part::kDown], x, rows, residual,
                      /*accumulate=*/true);
  }
  void append_key(WorkKey& key) const override { feed_forward_.append_key(key); }

 private:
  Network& network_;
  FeedForward feed_forward_;
};

// The MLP of models with experts in some or all layers.
class SparseMlp final : public Mlp {
 public:
  explicit SparseMlp(Network& network)
      : has_dense_(network.config.expert_layers() < network.config.layers),
        dense_(network),
        experts_(network) {}

  void prepare(int64_t rows) override {
    if (has_dense_) dense_.prepare(rows);
    experts_.prepare(rows);
    touched_experts_ = 0;
  }
  void add(const PartSet& layer, const void* x, int64_t rows, float* residual) override {
    if (layer.experts.empty()) return dense_.add(layer, x, rows, residual);
    experts_.add(layer, x, rows, residual);
    touched_experts_ += experts_.touched();
  }
  void append_key(WorkKey&) const override {
    REPRISE_CHECK(false, "rows are sorted by expert on the host: no step is another's work");
  }
  [[nodiscard]] int64_t touched_experts() const override { return touched_experts_; }

 private:
  bool has_dense_;
  DenseMlp dense_;
  Experts experts_;
  int64_t touched_experts_ = 0;
};

}  // namespace

std::unique_ptr<Mlp> make_mlp(Network& network) {
  if (network.config.expert_layers() > 0) return std::make_unique<SparseMlp>(network);
  return std::make_unique<DenseMlp>(network);
}

}  // namespace reprise::model
