#include <catch2/catch.hpp>

#include "elastic/vms/vm_plan.h"
#include "test/unit/elastic/plan/known_model.h"

namespace scavenger::elastic {
namespace {

VmType type_at_price(const std::string& name, double price) {
  VmType type;
  type.features.name = name;
  type.features.rate = 2.0;
  type.features.core_rate = 1.0;
  type.price = price;
  return type;
}

std::size_t count(const std::string& text, const std::string& what) {
  std::size_t found = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1))
    ++found;
  return found;
}

TEST_CASE("The page draws each plan with both bars, its limits, and names the choice") {
  VmQuestion question;
  const std::vector<VmType> types = {type_at_price("small", 0.1), type_at_price("other", 0.3)};
  question.limits.max_seconds =
      1.2 * make_vm_plan(small_model(), types, {}).rows[0].outcome.seconds.q50;
  const VmPlan plan = make_vm_plan(small_model(), types, question);
  const std::string page = vm_plan_page(plan, "digits & co");
  CHECK(count(page, "<circle") == plan.rows.size());
  CHECK(count(page, "<g class=") == plan.rows.size());
  CHECK(count(page, "class=\"limit\"") == 1);
  CHECK(page.find("digits &amp; co") != std::string::npos);
  CHECK(page.find("catalogue") != std::string::npos);
  CHECK(page.find("src=") == std::string::npos);  // it needs nothing beside itself
  CHECK(page.find("nan") == std::string::npos);
  for (const VmRow& row : plan.rows) CHECK(page.find(name_text(row)) != std::string::npos);
}

TEST_CASE("Names of types cannot break out of the page") {
  const VmPlan plan = make_vm_plan(
      small_model(), {type_at_price("small", 0.1), type_at_price("<script>x", 0.3)}, {});
  CHECK(vm_plan_page(plan, "digits").find("<script>x") == std::string::npos);
}

TEST_CASE("A plan without prices or with nothing that keeps the limits has a page, too") {
  VmQuestion question;
  question.limits.max_seconds = 1e-3;
  const VmPlan plan = make_vm_plan(small_model(), {type_at_price("small", 0.1)}, question);
  CHECK(vm_plan_page(plan, "digits").find("stands in the way") != std::string::npos);
}

}  // namespace
}  // namespace scavenger::elastic
