#include "elastic/planning/made_plan.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "runtime/base/error.h"
#include "runtime/base/file.h"
#include "test/support/temporary_folder.h"
#include "test/unit/elastic/plan/known_model.h"

namespace scavenger::elastic {
namespace {

class Sources {
 public:
  Sources() {
    const auto file = folder_.path() / "export.json";
    write_file_atomically(file, perfmodel::to_json_text(small_record()));
    plan.paths = {file.string()};
    plan.store.name = (folder_.path() / "store.db").string();
    const auto store = open_store(plan.store, perfmodel::StoreAccess::kReadWrite);
    store->record(small_record("letters"));
    store->record(small_record("words"));
  }
  PlanSources plan;

 private:
  TemporaryFolder folder_;
};

}  // namespace

TEST_CASE("A plan tells what it was made from, and predicts what was not measured") {
  const Sources sources;
  PlanQuestion question;
  question.workers = {2, 8};
  const MadePlan made = plan_from(sources.plan, Knowledge::kMeasured, question);
  CHECK_THAT(made.source.title, Catch::EndsWith("export.json"));
  CHECK_THAT(made.source.details, Catch::StartsWith("machine small"));
  REQUIRE(made.plan.decision.choice);
  for (const perfmodel::PlanRow& row : made.plan.rows)
    if (row.prediction.configuration.workers == 8.0)
      CHECK(row.prediction.iteration_seconds.value ==
            Approx(seconds_at(8.0, row.prediction.configuration.global_batch)).epsilon(0.1));
}

TEST_CASE("A universal plan counts every model of the store, and knows no unequal machines") {
  const Sources sources;
  const MadePlan made = plan_from(sources.plan, Knowledge::kUniversal, {});
  CHECK(made.source.notes.size() == 2);
  CHECK_THAT(made.source.title, Catch::StartsWith("universal model of "));
  PlanQuestion question;
  question.machines = parse_machines("small:2:1");
  CHECK_THROWS_WITH(plan_from(sources.plan, Knowledge::kUniversal, question),
                    Catch::Contains("unequal machines"));
  CHECK_THROWS_WITH(simulate_searches(sources.plan, question, {}),
                    Catch::Contains("unequal machines"));
}

TEST_CASE("A simulation tells of each search, of the universal one if a store is named") {
  Sources sources;
  const SimulationOptions once{.seeds = 1, .cold_start_iterations = 10};
  const std::string with_store = simulate_searches(sources.plan, {}, once);
  CHECK_THAT(with_store, Catch::StartsWith("6 configurations are the truth"));
  for (const char* mode : {"full", "partial", "adaptive", "none", "universal"})
    CHECK_THAT(with_store, Catch::Contains("\n" + std::string(mode) + " "));
  sources.plan.store = {};
  CHECK_THAT(simulate_searches(sources.plan, {}, once), !Catch::Contains("universal"));
}

}  // namespace scavenger::elastic
