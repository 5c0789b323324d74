#include "runtime/protocol/control_message.h"

#include <nlohmann/json.hpp>
#include <type_traits>
#include <utility>

#include "runtime/base/error.h"

namespace scavenger {

NLOHMANN_JSON_SERIALIZE_ENUM(Role, {{Role::kWorker, "worker"}, {Role::kShard, "shard"}})

void to_json(nlohmann::json& json, const TensorLayout& layout) {
  json = nlohmann::json::array();
  for (const TensorPlace& tensor : layout.tensors())
    json.push_back({{"name", tensor.name}, {"shape", tensor.shape}});
}

void from_json(const nlohmann::json& json, TensorLayout& layout) {
  layout = {};
  for (const auto& tensor : json) {
    const auto shape = tensor.at("shape").get<std::vector<std::int64_t>>();
    for (const std::int64_t dimension : shape)
      if (dimension <= 0)
        throw ProtocolError(
            {.what = "a tensor has a dimension below 1", .where = {}, .remedy = {}});
    const auto name = tensor.at("name").get<std::string>();
    for (const TensorPlace& other : layout.tensors())
      if (other.name == name)
        throw ProtocolError({.what = "two tensors have one name", .where = {}, .remedy = {}});
    layout.add(name, shape);
  }
}

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Membership, epoch, batch_size, shares, first_iteration,
                                   first_position)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(ShardAddress, host, port)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Joined, role, index, pid, version_line, port, parameters,
                                   buffers)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(ConfigureShard, index, shards, flat_size, samples_per_epoch,
                                   optimizer_steps, has_state, membership)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(ConfigureWorker, rank, membership, shards,
                                   writes_initial_weights, has_buffers, buffers)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Train, until_iteration)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(IterationStats, first, learning_rate, loss_sum, seconds,
                                   data_wait_seconds, forward_seconds, backward_seconds,
                                   sync_wait_seconds, local_sqr_norm, global_sqr_norm)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Evaluate, split, first, last, batch_size)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Evaluated, samples, correct, loss_sum)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Buffers, values)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Snapshot, iteration)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(SnapshotTaken, iteration, optimizer_steps)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Heartbeat, iteration, seconds_in_iteration)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Failed, reason, by_peer)

// Messages without content.
template <typename Message>
  requires std::is_empty_v<Message>
void to_json(nlohmann::json& json, const Message&) {
  json = nlohmann::json::object();
}
template <typename Message>
  requires std::is_empty_v<Message>
void from_json(const nlohmann::json&, Message&) {}

namespace {

constexpr const char* kNames[] = {"joined",   "configure_shard", "configure_worker",
                                  "ready",    "train",           "iteration_stats",
                                  "evaluate", "evaluated",       "send_buffers",
                                  "buffers",  "snapshot",        "snapshot_taken",
                                  "stop",     "heartbeat",       "failed"};
static_assert(std::size(kNames) == std::variant_size_v<ControlMessage>);

template <std::size_t... Is>
ControlMessage from_index(std::size_t index, const nlohmann::json& body,
                          std::index_sequence<Is...>) {
  ControlMessage message;
  ((Is == index
        ? static_cast<void>(message = body.get<std::variant_alternative_t<Is, ControlMessage>>())
        : void()),
   ...);
  return message;
}

}  // namespace

std::vector<std::byte> encode(const ControlMessage& message) {
  nlohmann::json json;
  json["message"] = kNames[message.index()];
  std::visit([&json](const auto& content) { json["body"] = content; }, message);
  // MessagePack keeps doubles and floats exactly, NaN included, and is quicker than text.
  const std::vector<std::uint8_t> packed = nlohmann::json::to_msgpack(json);
  const auto bytes = std::as_bytes(std::span(packed));
  return {bytes.begin(), bytes.end()};
}

ControlMessage decode_control_message(std::span<const std::byte> bytes) {
  try {
    const auto* const begin = reinterpret_cast<const std::uint8_t*>(bytes.data());
    const nlohmann::json json = nlohmann::json::from_msgpack(begin, begin + bytes.size());
    const auto& name = json.at("message").get_ref<const std::string&>();
    for (std::size_t i = 0; i < std::size(kNames); ++i)
      if (name == kNames[i])
        return from_index(i, json.at("body"),
                          std::make_index_sequence<std::variant_size_v<ControlMessage>>());
    throw ProtocolError(
        {.what = "unknown message \"" + name + "\"", .where = "control message", .remedy = {}});
  } catch (const nlohmann::json::exception& failure) {
    throw ProtocolError({.what = failure.what(), .where = "control message", .remedy = {}});
  }
}

std::string name_of(Role role) {
  return role == Role::kWorker ? "worker" : "shard";
}

}  // namespace scavenger
