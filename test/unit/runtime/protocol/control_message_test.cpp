#include "runtime/protocol/control_message.h"

#include <algorithm>
#include <bit>
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <numeric>
#include <span>
#include <vector>

#include "runtime/base/error.h"
#include "runtime/base/random.h"
#include "runtime/protocol/progressions.h"
#include "test/unit/runtime/protocol/sample_messages.h"

using namespace scavenger;
using nlohmann::json;

namespace {

json unpacked(const ControlMessage& message) {
  const auto bytes = encode(message);
  const auto* const begin = reinterpret_cast<const std::uint8_t*>(bytes.data());
  return json::from_msgpack(begin, begin + bytes.size());
}

ControlMessage decode(const json& message) {
  const std::vector<std::uint8_t> packed = json::to_msgpack(message);
  return decode_control_message(std::as_bytes(std::span(packed)));
}

// The message with one value of its body replaced.
json changed(const ControlMessage& message, const char* pointer, const json& value) {
  json document = unpacked(message);
  document["body"][json::json_pointer(pointer)] = value;
  return document;
}

ConfigureShard shard_message() {
  return {0, 2, 1000, 60000, 0, false, false, {1, 64, {32, 32}, 0, 0}};
}
ConfigureWorker worker_message() {
  return {{1, {1, 64, {32, 32}, 0, 0}, {0, 1}, {}, {}, {{"127.0.0.1", 4000}}, false, 0}, false, {}};
}

}  // namespace

TEST_CASE("every message comes out as it went in") {
  SampleMessages samples(1);
  for (std::size_t index = 0; index < std::variant_size_v<ControlMessage>; ++index)
    for (int trial = 0; trial < 50; ++trial) {
      const ControlMessage message = samples.message(index);
      REQUIRE(message.index() == index);

      const ControlMessage arrived = decode_control_message(encode(message));

      CHECK(arrived == message);
    }
}

TEST_CASE("numbers keep their bits: not a number, infinity, minus zero, the smallest") {
  using Limits = std::numeric_limits<double>;
  IterationStats stats;
  stats.learning_rate = -Limits::quiet_NaN();
  stats.loss_sum = {Limits::quiet_NaN(), Limits::infinity(), -0.0, Limits::denorm_min(), 0.1};
  Buffers buffers;
  buffers.values = {std::numeric_limits<float>::quiet_NaN(), -0.0F, 1e-45F, 0.1F};

  const auto stats_arrived = std::get<IterationStats>(decode_control_message(encode(stats)));
  const auto buffers_arrived = std::get<Buffers>(decode_control_message(encode(buffers)));

  const auto bits = [](double value) { return std::bit_cast<std::uint64_t>(value); };
  CHECK(bits(stats_arrived.learning_rate) == bits(stats.learning_rate));
  REQUIRE(stats_arrived.loss_sum.size() == stats.loss_sum.size());
  for (std::size_t i = 0; i < stats.loss_sum.size(); ++i)
    CHECK(bits(stats_arrived.loss_sum[i]) == bits(stats.loss_sum[i]));
  REQUIRE(buffers_arrived.values.size() == buffers.values.size());
  for (std::size_t i = 0; i < buffers.values.size(); ++i)
    CHECK(std::bit_cast<std::uint32_t>(buffers_arrived.values[i]) ==
          std::bit_cast<std::uint32_t>(buffers.values[i]));
}

TEST_CASE("a layout of tensors arrives with its offsets") {
  Joined joined;
  joined.parameters.add("weight", {3, 5});
  joined.parameters.add("bias", {3});

  const auto arrived = std::get<Joined>(decode_control_message(encode(joined)));

  CHECK(arrived.parameters == joined.parameters);
  CHECK(arrived.parameters.tensors().at(1).offset == 16);
}

TEST_CASE("a number that does not fit its field is refused, not bent until it does") {
  CHECK_THROWS_AS(decode(changed(shard_message(), "/index", -1)), ProtocolError);
  CHECK_THROWS_AS(decode(changed(shard_message(), "/index", std::uint64_t{1} << 32)),
                  ProtocolError);
  CHECK_THROWS_AS(decode(changed(shard_message(), "/index", 0.5)), ProtocolError);
  CHECK_THROWS_AS(decode(changed(shard_message(), "/flat_size", true)), ProtocolError);
  CHECK_THROWS_AS(decode(changed(worker_message(), "/group/shards/0/port", 65536 + 80)),
                  ProtocolError);
  CHECK_THROWS_AS(decode(changed(worker_message(), "/group/membership/shares/0", -32)),
                  ProtocolError);
}

TEST_CASE("a message with something missing, unknown or too much is refused") {
  json missing = unpacked(shard_message());
  missing["body"].erase("index");
  auto trailing = encode(Stop{});
  trailing.push_back(std::byte{0});

  CHECK_THROWS_AS(decode(missing), ProtocolError);
  CHECK_THROWS_AS(decode(changed(shard_message(), "/colour", "red")), ProtocolError);
  CHECK_THROWS_AS(decode(changed(Joined{}, "/role", "wizard")), ProtocolError);
  CHECK_THROWS_AS(decode({{"message", "dance"}, {"body", json::object()}}), ProtocolError);
  CHECK_THROWS_AS(decode({{"message", 7}, {"body", json::object()}}), ProtocolError);
  CHECK_THROWS_AS(decode(json::array({1, 2})), ProtocolError);
  CHECK_THROWS_AS(decode_control_message(trailing), ProtocolError);
  CHECK_THROWS_AS(decode_control_message({}), ProtocolError);
}

TEST_CASE("a membership whose shares are not the batch is refused") {
  const auto with_shares = [](const std::vector<std::uint32_t>& shares) {
    return changed(shard_message(), "/membership/shares", to_progressions(shares));
  };

  CHECK_NOTHROW(decode(with_shares({1, 63})));
  CHECK_THROWS_AS(decode(with_shares({0, 64})), ProtocolError);
  CHECK_THROWS_AS(decode(with_shares({32, 33})), ProtocolError);
  CHECK_THROWS_AS(decode(with_shares({})), ProtocolError);
  // 2^32 - 1 + 65 is 64 in 32 bits.
  CHECK_THROWS_AS(decode(with_shares({4294967295U, 65})), ProtocolError);
}

TEST_CASE("a message to one of a thousand workers does not grow with their number") {
  ConfigureWorker message = worker_message();
  const auto size_for = [&](std::uint32_t workers) {
    Membership& membership = message.group.membership;
    membership.shares.assign(workers, 4);
    std::ranges::fill(std::span(membership.shares).first(workers / 3), 5U);
    membership.batch_size = 4 * workers + workers / 3;
    message.group.slots.resize(workers);
    std::iota(message.group.slots.begin(), message.group.slots.end(), 0U);
    CHECK(decode_control_message(encode(message)) == ControlMessage(message));
    return encode(message).size();
  };
  CHECK(size_for(1000) < size_for(10) + 20);  // for numbers of more digits
}

TEST_CASE("lists of numbers become progressions and the same lists again") {
  using Numbers = std::vector<std::uint32_t>;
  using Progressions = std::vector<std::int64_t>;
  CHECK(to_progressions(Numbers{}) == Progressions{});
  CHECK(to_progressions(Numbers{7}) == Progressions{7, 0, 1});
  CHECK(to_progressions(Numbers{0, 1, 2, 3}) == Progressions{0, 1, 4});
  CHECK(to_progressions(Numbers{5, 5, 4, 4, 4}) == Progressions{5, 0, 2, 4, 0, 3});
  CHECK(to_progressions(Numbers{9, 6, 3, 0}) == Progressions{9, -3, 4});
  RandomStream random(1, "lists");
  for (int i = 0; i < 500; ++i) {
    Numbers numbers(random.below(30));
    for (std::uint32_t& number : numbers)
      number = static_cast<std::uint32_t>(random.below(random.below(2) == 0 ? 3 : 1ULL << 32));
    CHECK(from_progressions(to_progressions(numbers)) == numbers);
  }
}

TEST_CASE("progressions that are none are refused, also if they would fill the memory") {
  const auto refused = [](const std::vector<std::int64_t>& progressions) {
    CHECK_THROWS_AS(from_progressions(progressions), ProtocolError);
  };
  refused({1, 0});
  refused({1, 0, 0});
  refused({1, 0, -1});
  refused({-1, 0, 1});
  refused({0, -1, 2});
  refused({std::int64_t{1} << 32, 0, 1});
  refused({1, INT64_MAX, 2});
  refused({0, 4096, 4097});
  refused({0, 0, INT64_MAX});
  refused({0, 0, 4096, 0, 0, 1});
}

TEST_CASE("a place that is not there is refused") {
  CHECK_THROWS_AS(decode(changed(shard_message(), "/index", 2)), ProtocolError);
  CHECK_THROWS_AS(decode(changed(shard_message(), "/flat_size", 0)), ProtocolError);
  CHECK_THROWS_AS(decode(changed(shard_message(), "/flat_size", UINT64_MAX)), ProtocolError);
  CHECK_THROWS_AS(decode(changed(shard_message(), "/samples_per_epoch", 0)), ProtocolError);
  CHECK_THROWS_AS(decode(changed(worker_message(), "/group/rank", 2)), ProtocolError);
  CHECK_THROWS_AS(decode(changed(worker_message(), "/group/slots", json::array())), ProtocolError);
}

TEST_CASE("an evaluation that would never end, or of what is not there, is refused") {
  const Evaluate request{Split::kTest, 0, 100, 10};

  CHECK_NOTHROW(decode(unpacked(request)));
  CHECK_THROWS_AS(decode(changed(request, "/batch_size", 0)), ProtocolError);
  CHECK_THROWS_AS(decode(changed(request, "/first", 101)), ProtocolError);
  CHECK_THROWS_AS(decode(changed(request, "/split", "secret")), ProtocolError);
  Evaluated sums;
  sums.sums.samples = 10;
  sums.sums.predictions = 12;
  sums.sums.correct = 11;
  CHECK_NOTHROW(decode(unpacked(sums)));
  CHECK_THROWS_AS(decode(changed(sums, "/sums/correct", 13)), ProtocolError);
  CHECK_THROWS_AS(decode(changed(sums, "/sums/predictions", 9)), ProtocolError);
  CHECK_THROWS_AS(decode(changed(sums, "/sums/bleu/matches/2", 1)), ProtocolError);
}

TEST_CASE("tensors that nobody could hold are refused before their sizes overflow") {
  const auto with_shape = [](const json& shape) {
    return changed(Joined{}, "/parameters", json::array({{{"name", "w"}, {"shape", shape}}}));
  };
  const std::int64_t large = std::int64_t{1} << 32;

  CHECK_NOTHROW(decode(with_shape({1000, 1000})));
  CHECK_THROWS_AS(decode(with_shape({large, large})), ProtocolError);  // 2^64 is 0
  CHECK_THROWS_AS(decode(with_shape({large, 1 << 20})), ProtocolError);
  CHECK_THROWS_AS(decode(with_shape({0})), ProtocolError);
  CHECK_THROWS_AS(decode(with_shape({-3})), ProtocolError);
}

TEST_CASE("two tensors of one name are refused") {
  const json tensor = {{"name", "w"}, {"shape", {2}}};

  CHECK_THROWS_AS(decode(changed(Joined{}, "/parameters", json::array({tensor, tensor}))),
                  ProtocolError);
}
