// Control messages of every kind, with values at random and at the ends of their ranges.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "runtime/base/random.h"
#include "runtime/protocol/control_message.h"

namespace scavenger {

class SampleMessages final {
 public:
  explicit SampleMessages(std::uint64_t seed) : random_(seed, "sample messages") {}

  // One of the alternative with this index.
  ControlMessage message(std::size_t index) {
    switch (index) {
      case 0:
        return Joined{Role::kShard, number<std::uint32_t>(), number<std::int64_t>(),
                      text(),       number<std::uint16_t>(), layout(),
                      layout()};
      case 1: {
        const auto shards = 1 + number<std::uint32_t>() / 2;
        return ConfigureShard{shards - 1,
                              shards,
                              1 + number<std::uint64_t>() % (std::uint64_t{1} << 40),
                              1 + number<std::uint64_t>() / 2,
                              number<std::uint64_t>(),
                              random_.below(2) == 0,
                              false,
                              membership()};
      }
      case 2: {
        SyncGroup group;
        group.membership = membership();
        group.rank = group.membership.workers() - 1;
        for (std::uint32_t i = 0; i <= group.rank; ++i) group.slots.push_back(group.rank - i);
        if (random_.below(2) == 0) {
          group.hosts.resize(group.slots.size(), 3);
          group.uplink_pid = number<std::int64_t>();
          group.host_meeting = {text(), number<std::uint16_t>()};
        }
        for (int i = 0; i < 3; ++i) group.shards.push_back({text(), number<std::uint16_t>()});
        group.writes_initial_weights = random_.below(2) == 0;
        group.optimizer_steps = number<std::uint64_t>();
        group.shares_state = random_.below(2) == 0;
        group.source_rank = group.rank;
        return ConfigureWorker{group, true, floats(), number<std::uint32_t>()};
      }
      case 3:
        return Ready{number<std::uint32_t>()};
      case 4:
        return Train{number<std::uint64_t>()};
      case 5:
        return IterationStats{number<std::uint64_t>(),
                              number(),
                              doubles(),
                              doubles(),
                              doubles(),
                              doubles(),
                              doubles(),
                              doubles(),
                              doubles(),
                              doubles(),
                              half_batches()};
      case 6: {
        const auto first = number<std::uint64_t>() / 2;
        return Evaluate{Split::kTest, first, first + 5, 1 + number<std::uint32_t>() / 2};
      }
      case 7: {
        const auto samples = number<std::uint64_t>() / 2;
        EvaluationSums sums{.samples = samples,
                            .predictions = 2 * samples,
                            .correct = samples / 2,
                            .loss = number(),
                            .negative_log_likelihood = number(),
                            .squared_error = number(),
                            .bleu = {}};
        sums.bleu = {samples, samples, {4, 3, 2, 1}, {8, 6, 4, 2}};
        return Evaluated{sums};
      }
      case 8:
        return SendBuffers{};
      case 9:
        return Buffers{floats()};
      case 10:
        return Snapshot{number<std::uint64_t>()};
      case 11:
        return SnapshotTaken{number<std::uint64_t>(), number<std::uint64_t>()};
      case 12:
        return Halt{};
      case 13:
        return Halted{number<std::uint64_t>(), random_.below(2) == 0, floats()};
      case 14:
        return Stuck{text()};
      case 15:
        return Leaving{text()};
      case 16:
        return Stop{};
      case 17:
        return Heartbeat{number<std::uint64_t>(), number()};
      case 18:
        return SampleMemory{number<std::uint64_t>(), number<std::uint64_t>()};
      case 19:
        return DeviceUse{text(), number<std::uint64_t>(), number<std::uint64_t>(),
                         number<std::uint64_t>(), number<std::uint32_t>()};
      case 20:
        return ScriptValues{number<std::uint64_t>(), {text(), text()}, {number(), number()}};
      case 21:
        return Notice{text()};
      default:
        return Failed{Role::kShard,          number<std::uint32_t>(), text(),
                      random_.below(2) == 0, random_.below(2) == 0,   text()};
    }
  }

 private:
  template <typename Integer>
  Integer number() {
    if (random_.below(4) == 0) return std::numeric_limits<Integer>::max();
    if (random_.below(4) == 0) return std::numeric_limits<Integer>::min();
    return static_cast<Integer>(random_.bits() >> random_.below(64));
  }
  double number() {
    const double special[] = {0.0,
                              -0.0,
                              1e-310,
                              std::numeric_limits<double>::max(),
                              std::numeric_limits<double>::infinity(),
                              -std::numeric_limits<double>::infinity()};
    const std::uint64_t which = random_.below(20);
    return which < std::size(special) ? special[which] : random_.normal();
  }
  std::string text() {
    const std::string samples[] = {"", "worker", "127.0.0.1", "Größe, 参数", std::string(300, 'x')};
    return samples[random_.below(std::size(samples))];
  }
  std::vector<double> doubles() {
    std::vector<double> values(random_.below(20));
    for (double& value : values) value = number();
    return values;
  }
  std::vector<HalfBatchNorms> half_batches() {
    std::vector<HalfBatchNorms> all(random_.below(3));
    for (HalfBatchNorms& norms : all) {
      norms = {number<std::uint64_t>(), 3, 4, number(), doubles(), {}, {}};
      norms.first_sqr_norm.push_back(number());
      norms.second_sqr_norm = norms.whole_sqr_norm = norms.first_sqr_norm;
    }
    return all;
  }
  std::vector<float> floats() {
    std::vector<float> values(random_.below(20));
    for (float& value : values) value = static_cast<float>(random_.normal());
    return values;
  }
  Membership membership() {
    Membership membership{
        number<std::uint32_t>(), 0, {}, number<std::uint64_t>(), number<std::uint64_t>()};
    for (std::uint64_t workers = 1 + random_.below(5); workers > 0; --workers)
      membership.shares.push_back(1 + static_cast<std::uint32_t>(random_.below(1000)));
    for (const std::uint32_t share : membership.shares) membership.batch_size += share;
    membership.rate_factor = 1.0 / static_cast<double>(1 + random_.below(9));
    return membership;
  }
  TensorLayout layout() {
    TensorLayout layout;
    layout.add("scalar", {});
    for (std::uint64_t i = random_.below(4); i > 0; --i)
      layout.add("layers." + std::to_string(i),
                 {static_cast<std::int64_t>(1 + random_.below(9)), 3});
    return layout;
  }

  RandomStream random_;
};

}  // namespace scavenger
