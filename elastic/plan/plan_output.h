// A plan for people (a terminal's table, a page) and for programs (JSON). docs/plan.md explains
// each column.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "perfmodel/plan/plan.h"

namespace scavenger::elastic {

// Where the plan comes from, for its heading.
struct PlanSource {
  std::string title;    // "runs/fashion_mlp"
  std::string details;  // "machine e2-standard-4, target test accuracy 0.88"
  std::vector<std::string> notes;
};

std::string plan_text(const perfmodel::Plan& plan, const PlanSource& source);
// One document, indented, with a final newline.
std::string plan_json(const perfmodel::Plan& plan, const PlanSource& source);
// One file that needs no other: the table, and time and cost over each other, a curve per B.
std::string plan_html(const perfmodel::Plan& plan, const PlanSource& source);

}  // namespace scavenger::elastic
