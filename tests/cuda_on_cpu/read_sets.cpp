#include "tests/cuda_on_cpu/read_sets.h"

namespace cuda_on_cpu {

void ReadSets::clear() {
  readers_.clear();
  sets_.assign(1, {});
  last_result_ = kNone;
}

uint32_t ReadSets::with(uint32_t set, const Accessor& who) {
  const bool is_last = last_result_ != kNone && set == last_set_ &&
                       who.at.thread == last_reader_.thread && who.at.time == last_reader_.time &&
                       who.at.barriers == last_reader_.barriers;
  if (is_last) return last_result_;
  last_set_ = set;
  last_reader_ = who.at;
  const Range old = sets_[set];
  const size_t begin = readers_.size();
  for (size_t i = old.begin; i < old.end; ++i) {
    const Toucher reader = readers_[i];
    if (reader.thread == who.at.thread && reader.time == who.at.time) {
      readers_.resize(begin);
      return last_result_ = set;
    }
    if (!who.comes_after(reader)) readers_.push_back(reader);
  }
  readers_.push_back(who.at);
  sets_.push_back({begin, readers_.size()});
  return last_result_ = static_cast<uint32_t>(sets_.size() - 1);
}

uint32_t ReadSets::add(std::span<const Toucher> readers) {
  const size_t begin = readers_.size();
  readers_.insert(readers_.end(), readers.begin(), readers.end());
  sets_.push_back({begin, readers_.size()});
  return static_cast<uint32_t>(sets_.size() - 1);
}

std::span<const Toucher> ReadSets::of(uint32_t set) const {
  const Range range = sets_[set];
  return std::span(readers_).subspan(range.begin, range.end - range.begin);
}

}  // namespace cuda_on_cpu
