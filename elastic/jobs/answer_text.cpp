#include "elastic/jobs/answer_text.h"

#include <fmt/format.h>

#include <cstdint>
#include <nlohmann/json.hpp>

namespace scavenger::elastic {

std::string answer_text(const std::string& command, const nlohmann::json& answer) {
  if (command == "status") {
    std::string text = fmt::format(
        "{}: {}; iteration {}, epoch {:.2f}; K = {}, B = {}; {:.1f} s",
        answer.at("name").get<std::string>(), answer.at("state").get<std::string>(),
        answer.at("iteration").get<std::uint64_t>(), answer.at("epoch").get<double>(),
        answer.at("workers").get<std::uint32_t>(), answer.at("batch_size").get<std::uint32_t>(),
        answer.at("seconds").get<double>());
    if (answer.at("wanted_workers") != answer.at("workers") ||
        answer.at("wanted_batch_size") != answer.at("batch_size"))
      text += fmt::format("; on its way to K = {}, B = {}",
                          answer.at("wanted_workers").get<std::uint32_t>(),
                          answer.at("wanted_batch_size").get<std::uint32_t>());
    return text;
  }
  if (command == "resize")
    return fmt::format("going to K = {}, B = {}", answer.at("workers").get<std::uint32_t>(),
                       answer.at("batch_size").get<std::uint32_t>());
  if (command == "checkpoint") return "a checkpoint will be written at the next boundary";
  if (command == "pause") return "pausing at the next boundary, with a checkpoint";
  if (command == "continue") return "going on";
  return "stopping: the iteration is finished, and a checkpoint written";
}

}  // namespace scavenger::elastic
