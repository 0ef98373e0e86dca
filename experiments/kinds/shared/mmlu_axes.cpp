#include "experiments/kinds/shared/mmlu_axes.h"

#include "workloads/questions/mmlu_files.h"
#include "workloads/questions/mmlu_template.h"

namespace reprise::experiments {

namespace questions = workloads::questions;

void MmluAxes::visit_wording(AxisVisitor& visitor) {
  visitor.word({"split", "", questions::kMmluSplitHelp, /*came_later=*/true},
               {questions::mmlu_splits()}, mmlu.split);
  visitor.word({"question_template", "", questions::kMmluTemplateHelp, /*came_later=*/true},
               {questions::mmlu_template_names()}, mmlu.question_template);
}

}  // namespace reprise::experiments
