#include "elastic/coordinator/commands/job_command.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <set>

#include "runtime/base/error.h"
#include "runtime/base/json_text.h"

namespace scavenger::elastic {
namespace {

using Json = nlohmann::json;

[[noreturn]] void refuse_command(std::string what) {
  throw InputError({.what = std::move(what), .where = "command", .remedy = "see docs/control.md"});
}

std::optional<std::uint32_t> number(const Json& json, const char* key) {
  if (!json.contains(key)) return std::nullopt;
  const Json& value = json.at(key);
  if (!value.is_number_unsigned() || value.get<std::uint64_t>() == 0 ||
      value.get<std::uint64_t>() > UINT32_MAX)
    refuse_command(fmt::format("{} is to be a positive whole number", key));
  return value.get<std::uint32_t>();
}

void require_only(const Json& json, const std::set<std::string>& keys) {
  for (const auto& [key, value] : json.items())
    if (!keys.contains(key)) refuse_command(fmt::format("\"{}\" is unknown here", key));
}

}  // namespace

JobCommand parse_job_command(std::string_view line) {
  const Json json = try_parse_json<Json>(line).value_or(nullptr);
  if (!json.is_object() || !json.contains("command") || !json.at("command").is_string())
    refuse_command("it is not a line of JSON such as {\"command\": \"status\"}");
  const auto name = json.at("command").get<std::string>();
  if (name == "resize") {
    require_only(json, {"command", "workers", "batch_size"});
    const command::Resize resize{number(json, "workers"), number(json, "batch_size")};
    if (!resize.workers && !resize.batch_size) refuse_command("resize needs workers or batch_size");
    return resize;
  }
  require_only(json, {"command"});
  if (name == "status") return command::Status{};
  if (name == "checkpoint") return command::Checkpoint{};
  if (name == "pause") return command::Pause{true};
  if (name == "continue") return command::Pause{false};
  if (name == "stop") return command::Stop{};
  refuse_command(
      fmt::format("\"{}\" is none of status, resize, checkpoint, pause, continue, stop", name));
}

}  // namespace scavenger::elastic
