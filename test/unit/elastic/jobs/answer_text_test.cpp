#include "elastic/jobs/answer_text.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

namespace scavenger::elastic {

TEST_CASE("The status of a job says where it is, and where it is going if that is elsewhere") {
  nlohmann::json status{
      {"name", "digits"}, {"state", "training"}, {"iteration", 120},    {"epoch", 1.5},
      {"workers", 2},     {"batch_size", 64},    {"wanted_workers", 2}, {"wanted_batch_size", 64},
      {"seconds", 3.25}};
  const std::string here = "digits: training; iteration 120, epoch 1.50; K = 2, B = 64; 3.2 s";
  CHECK(answer_text("status", status) == here);
  status["wanted_workers"] = 4;
  CHECK(answer_text("status", status) == here + "; on its way to K = 4, B = 64");
}

TEST_CASE("Each command has an answer of its own") {
  CHECK(answer_text("resize", {{"workers", 4}, {"batch_size", 128}}) == "going to K = 4, B = 128");
  CHECK_THAT(answer_text("pause", {}), Catch::StartsWith("pausing"));
  CHECK_THAT(answer_text("continue", {}), Catch::StartsWith("going on"));
  CHECK_THAT(answer_text("stop", {}), Catch::StartsWith("stopping"));
  CHECK_THAT(answer_text("checkpoint", {}), Catch::Contains("checkpoint"));
}

}  // namespace scavenger::elastic
