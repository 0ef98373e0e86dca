// The axes of workload "mmlu" that several kinds have in common.
#pragma once

#include "experiments/framework/axis_visitor.h"
#include "workloads/questions/mmlu.h"

namespace reprise::experiments {

struct MmluAxes {
  workloads::questions::MmluOptions mmlu;

 protected:
  // Visits `split` and `question_template`. Axis `shots` is left to each kind, which gives it a
  // help text and a range of its own.
  void visit_wording(AxisVisitor& visitor);
};

}  // namespace reprise::experiments
