// The axes of workload "mmlu" that several kinds have in common.
#pragma once

#include "experiments/framework/axis_visitor.h"
#include "workloads/questions/mmlu.h"

namespace reprise::experiments {

struct MmluAxes {
  workloads::questions::MmluOptions mmlu;

 protected:
  // Visits split and question_template; a kind has its own text and range for shots.
  void visit_wording(AxisVisitor& visitor);
};

}  // namespace reprise::experiments
