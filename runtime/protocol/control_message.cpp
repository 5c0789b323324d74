#include "runtime/protocol/control_message.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <numeric>
#include <type_traits>
#include <utility>

#include "runtime/base/error.h"
#include "runtime/base/named_variant.h"
#include "runtime/protocol/progressions.h"
#include "runtime/vocabulary/word_json.h"

namespace scavenger {

void to_json(nlohmann::json& json, const TensorLayout& layout) {
  json = nlohmann::json::array();
  for (const TensorPlace& tensor : layout.tensors())
    json.push_back({{"name", tensor.name}, {"shape", tensor.shape}});
}

namespace {

// Far beyond any model; a larger number means damage or an attack.
constexpr std::size_t kTensorLimit = 16384;
constexpr std::uint64_t kTensorSizeLimit = std::uint64_t{1} << 40;  // floats

void require(bool holds, const char* complaint) {
  if (!holds) throw ProtocolError({.what = complaint, .where = "control message", .remedy = {}});
}

void check_shape(const std::vector<std::int64_t>& shape) {
  std::uint64_t size = 1;
  for (const std::int64_t dimension : shape) {
    require(dimension > 0, "a tensor has a dimension below 1");
    require(static_cast<std::uint64_t>(dimension) <= kTensorSizeLimit / size,
            "a tensor is too large");
    size *= static_cast<std::uint64_t>(dimension);
  }
}

}  // namespace

void from_json(const nlohmann::json& json, TensorLayout& layout) {
  layout = {};
  require(json.size() <= kTensorLimit, "there are too many tensors");
  for (const auto& tensor : json) {
    const auto shape = tensor.at("shape").get<std::vector<std::int64_t>>();
    check_shape(shape);
    const auto name = tensor.at("name").get<std::string>();
    for (const TensorPlace& other : layout.tensors())
      require(other.name != name, "two tensors have one name");
    layout.add(name, shape);
  }
}

namespace {

// Of a list with a number for each worker.
std::vector<std::uint32_t> numbers_of(const nlohmann::json& progressions) {
  return from_progressions(progressions.get<std::vector<std::int64_t>>());
}

}  // namespace

void to_json(nlohmann::json& json, const Membership& membership) {
  json = {{"epoch", membership.epoch},
          {"batch_size", membership.batch_size},
          {"shares", to_progressions(membership.shares)},
          {"first_iteration", membership.first_iteration},
          {"first_position", membership.first_position},
          {"rate_factor", membership.rate_factor}};
}
void from_json(const nlohmann::json& json, Membership& membership) {
  json.at("epoch").get_to(membership.epoch);
  json.at("batch_size").get_to(membership.batch_size);
  membership.shares = numbers_of(json.at("shares"));
  json.at("first_iteration").get_to(membership.first_iteration);
  json.at("first_position").get_to(membership.first_position);
  json.at("rate_factor").get_to(membership.rate_factor);
}
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(ShardAddress, host, port, is_near)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Joined, role, index, pid, version_line, port, parameters,
                                   buffers)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(ConfigureShard, index, shards, flat_size, samples_per_epoch,
                                   optimizer_steps, goes_on, has_state, membership)
void to_json(nlohmann::json& json, const SyncGroup& group) {
  json = {{"rank", group.rank},
          {"membership", group.membership},
          {"slots", to_progressions(group.slots)},
          {"hosts", to_progressions(group.hosts)},
          {"uplink_pid", group.uplink_pid},
          {"host_meeting", group.host_meeting},
          {"shards", group.shards},
          {"writes_initial_weights", group.writes_initial_weights},
          {"optimizer_steps", group.optimizer_steps},
          {"shares_state", group.shares_state},
          {"source_rank", group.source_rank},
          {"threads", group.threads}};
}
void from_json(const nlohmann::json& json, SyncGroup& group) {
  json.at("rank").get_to(group.rank);
  json.at("membership").get_to(group.membership);
  group.slots = numbers_of(json.at("slots"));
  group.hosts = numbers_of(json.at("hosts"));
  json.at("uplink_pid").get_to(group.uplink_pid);
  json.at("host_meeting").get_to(group.host_meeting);
  json.at("shards").get_to(group.shards);
  json.at("writes_initial_weights").get_to(group.writes_initial_weights);
  json.at("optimizer_steps").get_to(group.optimizer_steps);
  json.at("shares_state").get_to(group.shares_state);
  json.at("source_rank").get_to(group.source_rank);
  json.at("threads").get_to(group.threads);
}
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(ConfigureWorker, group, has_buffers, buffers, state_pieces)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Ready, membership_epoch)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Halted, iteration, has_weights, buffers)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Stuck, reason)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Leaving, reason)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Train, until_iteration)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(HalfBatchNorms, iteration, first_samples, second_samples,
                                   seconds, first_sqr_norm, second_sqr_norm, whole_sqr_norm)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(IterationStats, first, learning_rate, loss_sum, seconds,
                                   data_wait_seconds, forward_seconds, backward_seconds,
                                   sync_wait_seconds, local_sqr_norm, global_sqr_norm, half_batches)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Evaluate, split, first, last, batch_size)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(BleuStatistics, hypothesis_words, reference_words, matches,
                                   ngrams)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(EvaluationSums, samples, predictions, correct, correct_in_top5,
                                   loss, negative_log_likelihood, squared_error, bleu)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Evaluated, sums)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Buffers, values)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Snapshot, iteration)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(SnapshotTaken, iteration, optimizer_steps)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Heartbeat, iteration, seconds_in_iteration)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(SampleMemory, bytes_per_sample, room_samples)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(DeviceUse, device, most_used_bytes, most_reserved_bytes,
                                   total_bytes, graphs)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Notice, text)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(ScriptValues, iteration, names, values)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Failed, role, index, reason, by_peer, bad_input, traceback)

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

static_assert(have_different_names<ControlMessage>());

// Checks MessagePack before it is parsed, since the parser recurses with the nesting, and a
// container of one byte takes 50 bytes of memory. Rejects deeper nesting and more containers than
// any message needs.
class NestingCheck final : public nlohmann::json_sax<nlohmann::json> {
 public:
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(std::int64_t) override { return true; }
  bool number_unsigned(std::uint64_t) override { return true; }
  bool number_float(double, const std::string&) override { return true; }
  bool string(std::string&) override { return true; }
  bool binary(nlohmann::json::binary_t&) override { return true; }
  bool key(std::string&) override { return true; }
  bool start_object(std::size_t) override { return open(); }
  bool end_object() override { return close(); }
  bool start_array(std::size_t) override { return open(); }
  bool end_array() override { return close(); }
  bool parse_error(std::size_t, const std::string&, const nlohmann::json::exception&) override {
    return false;  // from_msgpack() will report it
  }
  bool too_much() const { return too_much_; }

 private:
  static constexpr int kDepthLimit = 8;
  static constexpr std::size_t kContainerLimit = 4 * kTensorLimit + 100;

  bool open() {
    too_much_ = ++depth_ > kDepthLimit || ++containers_ > kContainerLimit;
    return !too_much_;
  }
  bool close() {
    --depth_;
    return true;
  }

  int depth_ = 0;
  std::size_t containers_ = 0;
  bool too_much_ = false;
};

nlohmann::json unpack(std::span<const std::byte> bytes) {
  const auto* const begin = reinterpret_cast<const std::uint8_t*>(bytes.data());
  const auto* const end = begin + bytes.size();
  NestingCheck check;
  nlohmann::json::sax_parse(begin, end, &check, nlohmann::json::input_format_t::msgpack);
  require(!check.too_much(), "it is nested too deeply, or has too many parts");
  return nlohmann::json::from_msgpack(begin, end);
}

// ---- Rules that the types cannot express. ----

void check(const Membership& membership) {
  require(std::isfinite(membership.rate_factor) && membership.rate_factor > 0.0,
          "a learning rate cannot be multiplied with that");
  const auto& shares = membership.shares;
  require(!shares.empty() && std::ranges::find(shares, 0U) == shares.end(),
          "a membership has no workers, or one without samples");
  require(std::accumulate(shares.begin(), shares.end(), std::uint64_t{0}) == membership.batch_size,
          "the shares of a membership do not add up to the batch");
}

void check(const ConfigureShard& message) {
  check(message.membership);
  require(message.index < message.shards, "there is no shard of that index");
  require(message.flat_size > 0 && message.samples_per_epoch > 0, "there is nothing to train");
  require(message.flat_size <= kTensorSizeLimit, "the model is too large");
  require(!message.goes_on || !message.has_state, "a shard keeps its state, or gets another");
}

void check(const ConfigureWorker& message) {
  const SyncGroup& group = message.group;
  check(group.membership);
  require(group.rank < group.membership.workers() && group.source_rank < group.membership.workers(),
          "there is no worker of that rank");
  require(group.slots.size() == group.membership.workers(), "a worker has no slot, or two");
  require(group.hosts.empty() || group.hosts.size() == group.membership.workers(),
          "a worker has no host, or two");
}

void check(const IterationStats& message) {
  for (const HalfBatchNorms& norms : message.half_batches)
    require(norms.first_sqr_norm.size() == norms.whole_sqr_norm.size() &&
                norms.second_sqr_norm.size() == norms.whole_sqr_norm.size() &&
                !norms.whole_sqr_norm.empty() && norms.whole_sqr_norm.size() <= kTensorLimit,
            "two halves of a batch have different groups");
}

void check(const Evaluate& message) {
  require(message.first <= message.last && message.batch_size > 0,
          "an evaluation goes backwards, or never ends");
}

void check(const Evaluated& message) {
  const EvaluationSums& sums = message.sums;
  require(sums.correct <= sums.predictions, "more predictions are right than there are");
  require(sums.correct_in_top5 <= sums.predictions, "more predictions are close than there are");
  require(sums.predictions >= sums.samples, "a sample without a prediction");
  for (std::size_t n = 0; n < BleuStatistics::kOrders; ++n)
    require(sums.bleu.matches[n] <= sums.bleu.ngrams[n], "more n-grams are right than there are");
}

template <typename Message>
void check(const Message&) {}

ControlMessage message_of(std::string_view name, const nlohmann::json& body) {
  ControlMessage message;
  const auto take = [&]<typename Message>(std::type_identity<Message>) {
    message = body.get<Message>();
  };
  require(with_alternative(name, std::type_identity<ControlMessage>(), take),
          "it is of an unknown kind");
  return message;
}

}  // namespace

std::vector<std::byte> encode(const ControlMessage& message) {
  nlohmann::json json;
  std::visit(
      [&json](const auto& content) {
        json["message"] = content.kName;
        json["body"] = content;
      },
      message);
  // MessagePack keeps doubles and floats exactly, including NaN, and is faster than text.
  const std::vector<std::uint8_t> packed = nlohmann::json::to_msgpack(json);
  const auto bytes = std::as_bytes(std::span(packed));
  return {bytes.begin(), bytes.end()};
}

ControlMessage decode_control_message(std::span<const std::byte> bytes) {
  try {
    const nlohmann::json json = unpack(bytes);
    const auto& name = json.at("message").get_ref<const std::string&>();
    ControlMessage message = message_of(name, json.at("body"));
    // The JSON library converts numbers silently and ignores unknown keys. Each message has only
    // one encoding; if these bytes differ from it, something was converted or ignored.
    require(std::ranges::equal(encode(message), bytes),
            "a value does not fit its field, or there is one too many");
    std::visit([](const auto& content) { check(content); }, message);
    return message;
  } catch (const nlohmann::json::exception& failure) {
    throw ProtocolError({.what = failure.what(), .where = "control message", .remedy = {}});
  } catch (const InputError& failure) {  // a word that is not in the vocabulary
    throw ProtocolError({.what = failure.problem().what, .where = "control message", .remedy = {}});
  }
}

}  // namespace scavenger
