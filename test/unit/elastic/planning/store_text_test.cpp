#include "elastic/planning/store_text.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "test/unit/elastic/plan/known_model.h"

namespace scavenger::elastic {

TEST_CASE("A table of a store has a line for each model under its heading") {
  const std::vector<perfmodel::ModelSummary> models = {
      {"0123456789abcdef", "digits", 1000, "digits", 2, 6, 1, "2026-11-23T08:00:00Z"},
      {"fedcba9876543210", "letters", 5, "letters", 1, 1, 0, "2026-11-22T08:00:00Z"}};
  const std::string text = models_table(models);
  CHECK(std::ranges::count(text, '\n') == 3);
  CHECK_THAT(text, Catch::StartsWith("id ") && Catch::Contains("0123456789abcdef  digits") &&
                       Catch::Contains("2026-11-22T08:00:00Z"));
}

TEST_CASE("What is known of a model is its signature and a table for each kind of measurement") {
  perfmodel::ModelRecord record = small_record();
  record.noise[0].noise_scale_high = 0.0;  // open
  const std::string text = model_text(record);
  CHECK_THAT(text, Catch::StartsWith("digits (" + record.signature.id() + ")\n1000 parameters"));
  CHECK_THAT(text, Catch::Contains("250 to infinity") && Catch::Contains("250 to 350"));
  CHECK_THAT(text, Catch::Contains("test accuracy 0.9"));
  const auto rows = record.times.size() + record.noise.size() + record.epochs.size();
  CHECK(std::ranges::count(text, '\n') == static_cast<std::ptrdiff_t>(4 + 3 * 2 + rows));
}

}  // namespace scavenger::elastic
