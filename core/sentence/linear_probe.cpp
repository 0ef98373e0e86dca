#include "core/sentence/linear_probe.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <deque>

#include "core/base/error.h"

namespace reprise::sentence {
namespace {

using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using Vector = Eigen::VectorXd;

// Training vectors, centred and scaled, with an additional column of ones for the bias.
struct Scaled {
  Matrix x;     // [vectors, width + 1]
  Vector sign;  // [vectors]  -1 or 1
  Vector mean;
  double scale = 1;
};

Scaled scaled(const ProbeData& data) {
  const auto items = static_cast<Eigen::Index>(data.labels.size());
  const auto width = static_cast<Eigen::Index>(data.width);
  const Eigen::Map<const Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>>
      given(data.vectors.data(), items, width);
  Scaled out{.x = Matrix::Ones(items, width + 1), .sign = Vector(items)};
  out.mean = given.cast<double>().colwise().mean().transpose();
  Matrix centred = given.cast<double>();
  centred.rowwise() -= out.mean.transpose();
  const double square = centred.squaredNorm() / static_cast<double>(items * width);
  out.scale = square > 0 ? std::sqrt(square) : 1.0;
  out.x.leftCols(width) = centred / out.scale;
  for (Eigen::Index i = 0; i < items; ++i)
    out.sign[i] = data.labels[static_cast<size_t>(i)] != 0 ? 1.0 : -1.0;
  return out;
}

// The loss and its gradient. The bias is the last weight and is not penalized.
class Loss {
 public:
  Loss(const Matrix& x, const Vector& sign, double penalty)
      : x_(x), sign_(sign), penalty_(penalty) {}

  double at(const Vector& w, Vector& slope) const {
    const Vector margin = sign_.cwiseProduct(x_ * w);
    Vector pull(margin.size());  // derivative of the loss with respect to x w
    double sum = 0;
    for (Eigen::Index i = 0; i < margin.size(); ++i) {
      const double m = margin[i], e = std::exp(-std::abs(m));
      sum += (m > 0 ? 0 : -m) + std::log1p(e);
      pull[i] = -sign_[i] * (m > 0 ? e / (1 + e) : 1 / (1 + e));
    }
    slope = x_.transpose() * pull;
    const auto inner = w.size() - 1;
    slope.head(inner) += penalty_ * w.head(inner);
    return sum + penalty_ / 2 * w.head(inner).squaredNorm();
  }

 private:
  const Matrix& x_;
  const Vector& sign_;
  double penalty_;
};

// The last ten steps, each with the change of the gradient that the step caused. [Nocedal 1980]
class Curvature {
 public:
  void add(const Vector& step, const Vector& turn) {
    if (step.dot(turn) <= 1e-12 * step.norm() * turn.norm()) return;
    pairs_.push_back({step, turn});
    if (pairs_.size() > 10) pairs_.pop_front();
  }
  // Returns -slope multiplied by the approximation of the inverse Hessian that follows from the
  // stored pairs.
  [[nodiscard]] Vector direction(const Vector& slope) const {
    Vector q = -slope;
    std::vector<double> alphas(pairs_.size());
    for (size_t i = pairs_.size(); i-- > 0;) {
      alphas[i] = pairs_[i].step.dot(q) / pairs_[i].step.dot(pairs_[i].turn);
      q -= alphas[i] * pairs_[i].turn;
    }
    if (!pairs_.empty())
      q *= pairs_.back().step.dot(pairs_.back().turn) / pairs_.back().turn.squaredNorm();
    for (size_t i = 0; i < pairs_.size(); ++i) {
      const double beta = pairs_[i].turn.dot(q) / pairs_[i].step.dot(pairs_[i].turn);
      q += (alphas[i] - beta) * pairs_[i].step;
    }
    return q;
  }

 private:
  struct Pair {
    Vector step, turn;
  };
  std::deque<Pair> pairs_;
};

Vector minimum_of(const Loss& loss, Eigen::Index size, int64_t most_steps) {
  Vector w = Vector::Zero(size), slope, next_slope;
  double value = loss.at(w, slope);
  const double enough = 1e-6 * slope.norm();
  Curvature curvature;
  for (int64_t step = 0; step < most_steps && slope.norm() > enough; ++step) {
    const Vector direction = curvature.direction(slope);
    // The loss is convex and decreases along the direction, so it decreases enough once the step
    // has been halved often enough.
    double length = step == 0 ? 1.0 / std::max(1.0, slope.norm()) : 1.0;
    Vector next = w + length * direction;
    double next_value = loss.at(next, next_slope);
    while (next_value > value + 1e-4 * length * slope.dot(direction) && length > 1e-12) {
      length /= 2;
      next = w + length * direction;
      next_value = loss.at(next, next_slope);
    }
    curvature.add(next - w, next_slope - slope);
    const bool stands_still = !(next_value < value);
    w = next;
    slope = next_slope;
    value = next_value;
    if (stands_still) break;
  }
  return w;
}

// Returns the indices of the vectors in a fold, or of all other vectors if `inside` is false.
std::vector<Eigen::Index> items_of(Eigen::Index items, int64_t folds, int64_t fold, bool inside) {
  std::vector<Eigen::Index> chosen;
  for (Eigen::Index i = 0; i < items; ++i)
    if ((i % folds == fold) == inside) chosen.push_back(i);
  return chosen;
}

int64_t right_in_folds(const Scaled& data, double penalty, const ProbeOptions& options) {
  int64_t right = 0;
  for (int64_t fold = 0; fold < options.folds; ++fold) {
    const auto held = items_of(data.x.rows(), options.folds, fold, /*inside=*/true);
    const auto others = items_of(data.x.rows(), options.folds, fold, /*inside=*/false);
    const Matrix x = data.x(others, Eigen::all);
    const Vector sign = data.sign(others);
    const Vector w = minimum_of(Loss(x, sign, penalty), x.cols(), options.most_steps);
    for (const Eigen::Index i : held) right += data.x.row(i).dot(w) * data.sign[i] > 0 ? 1 : 0;
  }
  return right;
}

double best_penalty(const Scaled& data, const ProbeOptions& options) {
  double best = kPenalties[0];
  int64_t most = -1;
  for (const double penalty : kPenalties) {
    const int64_t right = right_in_folds(data, penalty, options);
    if (right <= most) continue;
    best = penalty;
    most = right;
  }
  return best;
}

void check(const ProbeData& data) {
  REPRISE_CHECK(data.width > 0 && std::ssize(data.vectors) == std::ssize(data.labels) * data.width,
                "{} numbers for {} labels of width {}", data.vectors.size(), data.labels.size(),
                data.width);
}

}  // namespace

LinearProbe LinearProbe::fit(const ProbeData& training, const ProbeOptions& options) {
  check(training);
  REPRISE_CHECK(options.folds >= 2 && options.penalty >= 0 && options.most_steps > 0,
                "{} folds, penalty {}, {} steps", options.folds, options.penalty,
                options.most_steps);
  const int64_t positive = std::count_if(training.labels.begin(), training.labels.end(),
                                         [](uint8_t label) { return label != 0; });
  if (positive == 0 || positive == std::ssize(training.labels))
    raise("all {} labels of the training set are one; a probe takes both", training.labels.size());
  const Scaled data = scaled(training);
  LinearProbe probe;
  probe.penalty_ = options.penalty > 0 ? options.penalty : best_penalty(data, options);
  const Vector w =
      minimum_of(Loss(data.x, data.sign, probe.penalty_), data.x.cols(), options.most_steps);
  const auto width = static_cast<Eigen::Index>(training.width);
  const Vector weights = w.head(width) / data.scale;
  probe.weights_.assign(weights.data(), weights.data() + width);
  probe.bias_ = w[width] - weights.dot(data.mean);
  return probe;
}

bool LinearProbe::is_positive(std::span<const float> vector) const {
  REPRISE_CHECK(vector.size() == weights_.size(), "{} numbers, {} weights", vector.size(),
                weights_.size());
  double sum = bias_;
  for (size_t i = 0; i < vector.size(); ++i) sum += weights_[i] * double{vector[i]};
  return sum > 0;
}

int64_t LinearProbe::right(const ProbeData& test) const {
  check(test);
  int64_t count = 0;
  const auto width = static_cast<size_t>(test.width);
  for (size_t i = 0; i < test.labels.size(); ++i)
    count += is_positive(test.vectors.subspan(i * width, width)) == (test.labels[i] != 0) ? 1 : 0;
  return count;
}

}  // namespace reprise::sentence
