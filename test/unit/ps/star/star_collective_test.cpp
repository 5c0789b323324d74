#include "ps/star/star_collective.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstdint>
#include <future>
#include <latch>
#include <vector>

#include "test/unit/ps/star/raw_peer.h"
#include "test/unit/ps/star/star_group.h"
#include "test/unit/runtime/net/outer_address.h"

using namespace scavenger;
using namespace scavenger::ps;

namespace {

std::vector<float> numbers(std::size_t size, std::uint32_t rank) {
  std::vector<float> values(size);
  for (std::size_t i = 0; i < size; ++i)
    values[i] = static_cast<float>(i % 1000) + 1000.0F * static_cast<float>(rank);
  return values;
}

void check_sums(std::size_t workers, const std::string& address) {
  Group group(workers, address);
  for (std::uint32_t centre = 0; centre < workers; ++centre) {
    const bool are_right =
        group.run(centre, [workers](StarCollective& collective, std::uint32_t rank) {
          bool is_right = true;
          // One sum of several rounds, one of a few numbers, one of none.
          for (int repeat = 0; repeat < 3; ++repeat) {
            auto large = numbers(2 * kRoundFloats + 17, rank);
            auto small = numbers(3, rank);
            collective.begin_sum(large);
            collective.begin_sum(small);
            collective.begin_sum({});
            for (int i = 0; i < 3; ++i) collective.finish_sum();
            float ranks = 0.0F;
            for (std::size_t other = 0; other < workers; ++other)
              ranks += static_cast<float>(other);
            const auto expected = [&](std::size_t i) {
              return static_cast<float>(workers) * static_cast<float>(i % 1000) + 1000.0F * ranks;
            };
            is_right &= small[2] == expected(2);
            for (std::size_t i = 0; i < large.size(); ++i) is_right &= large[i] == expected(i);
          }
          return is_right;
        });
    CHECK(are_right);
  }
}

}  // namespace

TEST_CASE("all get the sums, in whatever group they are and whoever is its centre") {
  for (const std::size_t workers : {std::size_t{1}, std::size_t{2}, std::size_t{4}})
    check_sums(workers, "127.0.0.1");
}

TEST_CASE("between machines all get the same sums, in TLS") {
  REQUIRE_OUTER_ADDRESS(address);
  check_sums(3, address);
  Group group(2, address);
  RawPeer peer(group.member(0).hub->port(), address);
  CHECK(peer.is_encrypted());
}

TEST_CASE("a broadcast gives all what its source has") {
  Group group(3);
  for (std::uint32_t source = 0; source < 3; ++source)
    CHECK(group.run(source == 0 ? 1 : 0, [source](StarCollective& collective, std::uint32_t rank) {
      auto values = numbers(kRoundFloats + 5, rank);
      collective.broadcast(values, source);
      return values == numbers(kRoundFloats + 5, source);
    }));
}

TEST_CASE("a lost worker ends the waiting of all others, who then form a new group") {
  for (const std::uint32_t centre : {0u, 1u}) {
    Group group(3);
    std::latch joined(3);
    CHECK(group.run(centre, [&joined](StarCollective& collective, std::uint32_t rank) {
      joined.arrive_and_wait();
      const bool is_right = rank == 1 || is_lost([&] { adds_up(collective, 3); });
      collective.leave();
      return is_right;
    }));
    group.lose(1);
    CHECK(group.run(
        1, [](StarCollective& collective, std::uint32_t) { return adds_up(collective, 2); }));
  }
}

TEST_CASE("an interruption ends every wait, also for those who never come") {
  Group group(2);
  for (const std::uint32_t rank : {0u, 1u}) {
    StarCollective& collective = *group.member(rank).collective;
    auto waiting = std::async(std::launch::async, [&] {
      const bool has_ended = is_lost([&] { collective.join(group.group_of(rank, 0)); });
      collective.leave();
      return has_ended;
    });
    CHECK(waiting.wait_for(std::chrono::milliseconds(50)) == std::future_status::timeout);
    collective.interrupt();
    CHECK(waiting.get());
    collective.allow();
  }
  CHECK(group.run(
      0, [](StarCollective& collective, std::uint32_t) { return adds_up(collective, 2); }));
}
