#include "results/run_validity.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <vector>

namespace reprise::results {
namespace {

// The object whose "verdict" is a text, null where there is none.
const Json* judgement_in(const Json& place) {
  if (!place.is_object()) return nullptr;
  const auto verdict = place.find("verdict");
  if (verdict != place.end() && verdict->is_string()) return &place;
  for (const char* member : {"verdict", "validity"})
    if (const auto found = place.find(member); found != place.end() && found->is_object())
      if (const auto text = found->find("verdict"); text != found->end() && text->is_string())
        return &*found;
  return nullptr;
}

std::string reasons_of(const Json& judgement) {
  std::vector<std::string> texts;
  if (const auto reasons = judgement.find("reasons"); reasons != judgement.end())
    for (const Json& reason : *reasons)
      if (reason.is_string()) texts.push_back(reason.get<std::string>());
  return texts.empty() ? "no reason is given" : fmt::format("{}", fmt::join(texts, "; "));
}

}  // namespace

RunValidity run_validity(const Json& record) {
  const Json none = Json::object();
  for (const Json& place :
       {record.value("answers", none), record.value("settings", none).value("resolved", none)})
    if (const Json* judgement = judgement_in(place)) {
      if ((*judgement)["verdict"] == "VALID") return {.is_judged = true};
      return {.is_judged = true, .is_valid = false, .reason = reasons_of(*judgement)};
    }
  return {};
}

}  // namespace reprise::results
