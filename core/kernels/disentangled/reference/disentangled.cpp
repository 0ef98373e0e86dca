#include "core/kernels/disentangled/reference/disentangled.h"

#include <algorithm>
#include <cmath>

namespace reprise::kernels::reference {
namespace {

// Returns the vector [head_dim] of one row and head in `data`.
const float* at(const DisentangledCall& call, const float* data, int64_t row, int64_t head) {
  return data + row * call.row_stride + head * call.head_dim;
}

double dot(const DisentangledCall& call, const float* a, const float* b) {
  double sum = 0.0;
  for (int64_t c = 0; c < call.head_dim; ++c) sum += double{a[c]} * double{b[c]};
  return sum;
}

// Returns <a, vector of bucket x>, or 0 if `vectors` are absent.
double dot(const DisentangledCall& call, const float* a, const PositionVectors& vectors,
           int64_t head, int64_t x) {
  double sum = 0.0;
  for (int64_t c = 0; c < call.head_dim && vectors.data != nullptr; ++c)
    sum += double{a[c]} * double{vectors.data[(head * call.head_dim + c) * vectors.stride + x]};
  return sum;
}

double position_terms(const DisentangledCall& call, int64_t i, int64_t j, int64_t head) {
  const int64_t middle = std::ssize(call.buckets) / 2;
  const int64_t x = call.buckets[static_cast<size_t>(middle + i - j)];
  return call.scale * (dot(call, at(call, call.q, i, head), call.keys, head, x) +
                       dot(call, at(call, call.k, j, head), call.queries, head, x));
}

}  // namespace

std::vector<double> disentangled_biases(const DisentangledCall& call, int64_t rows, int64_t keys) {
  std::vector<double> biases(static_cast<size_t>(call.heads * rows * keys), 0.0);
  for (const TextRows& text : call.texts)
    for (int64_t head = 0; head < call.heads; ++head)
      for (int64_t i = text.first_row; i < text.end_row; ++i)
        for (int64_t j = text.first_row; j < text.end_row; ++j)
          biases[static_cast<size_t>((head * rows + i) * keys + j - text.first_row)] =
              position_terms(call, i, j, head);
  return biases;
}

std::vector<double> disentangled(const DisentangledCall& call, int64_t rows) {
  std::vector<double> out(static_cast<size_t>(rows * call.heads * call.head_dim), 0.0);
  for (const TextRows& text : call.texts)
    for (int64_t head = 0; head < call.heads; ++head)
      for (int64_t i = text.first_row; i < text.end_row; ++i) {
        std::vector<double> scores;
        for (int64_t j = text.first_row; j < text.end_row; ++j)
          scores.push_back(call.scale *
                               dot(call, at(call, call.q, i, head), at(call, call.k, j, head)) +
                           position_terms(call, i, j, head));
        const double m = *std::max_element(scores.begin(), scores.end());
        double n = 0.0;
        for (double& score : scores) n += score = std::exp(score - m);
        for (int64_t j = text.first_row; j < text.end_row; ++j)
          for (int64_t c = 0; c < call.head_dim; ++c)
            out[static_cast<size_t>((i * call.heads + head) * call.head_dim + c)] +=
                scores[static_cast<size_t>(j - text.first_row)] / n *
                double{at(call, call.v, j, head)[c]};
      }
  return out;
}

}  // namespace reprise::kernels::reference
