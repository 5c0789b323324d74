#include "campaign/task/task_message.h"

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <type_traits>

#include "runtime/base/error.h"
#include "runtime/base/json_text.h"
#include "runtime/base/named_variant.h"

namespace scavenger::campaign {

namespace message {
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Hello, machine, pid, version_line)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(PutFile, task, name, bytes, sha256, is_checkpoint, is_executable)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Run, task, words, checkpoint_files, result_files,
                                   takes_checkpoints, stop_file, stop_signal)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Stop, task)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(End, task)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Began, task)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Ended, task, how, reason, log_tail)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Delivered, task, is_final)

// Messages without content.
template <typename Message>
  requires std::is_empty_v<Message>
void to_json(nlohmann::json& json, const Message&) {
  json = nlohmann::json::object();
}
template <typename Message>
  requires std::is_empty_v<Message>
void from_json(const nlohmann::json&, Message&) {}
}  // namespace message

namespace {

static_assert(have_different_names<TaskMessage>());

constexpr int kDepthLimit = 4;

[[noreturn]] void refuse(const char* what) {
  throw ProtocolError({.what = what, .where = "message of a task", .remedy = {}});
}

void check(const TaskMessage& message) {
  const auto* file = std::get_if<message::PutFile>(&message);
  if (file == nullptr) return;
  if (!is_inside(file->name)) refuse("a file is outside of its folder");
  if (file->bytes > kMostFileBytes) refuse("a file is too large");
}

}  // namespace

bool is_inside(const std::string& name) {
  if (name.empty() || name.find('\0') != std::string::npos) return false;
  const std::filesystem::path path = name;
  if (path.is_absolute() || !path.has_filename()) return false;
  for (const auto& part : path)
    if (part == ".." || part == ".") return false;
  return true;
}

std::string encode(const TaskMessage& message) {
  nlohmann::json json;
  std::visit(
      [&](const auto& what) { json = {{"message", what.kName}, {"of", nlohmann::json(what)}}; },
      message);
  return json_text(json, {.broken_utf8 = BrokenUtf8::kReplace});
}

TaskMessage decode_task_message(std::string_view text) {
  const auto json = try_parse_json(text, kDepthLimit);
  if (!json || !json->is_object()) refuse("it is not a JSON object");
  try {
    std::optional<TaskMessage> message;
    with_alternative(json->at("message").get<std::string>(), std::type_identity<TaskMessage>(),
                     [&]<typename Message>(std::type_identity<Message>) {
                       message = json->at("of").get<Message>();
                     });
    if (!message) refuse("there is no such message");
    check(*message);
    return *message;
  } catch (const nlohmann::json::exception&) {
    refuse("a field is missing, or has the wrong type");
  }
}

}  // namespace scavenger::campaign
