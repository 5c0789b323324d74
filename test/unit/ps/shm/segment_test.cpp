#include "ps/shm/segment.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <set>

#include "runtime/base/error.h"

using namespace scavenger;
using namespace scavenger::ps;

namespace {

const SegmentShape kShape{.flat_size = 5003, .chunk_bytes = 4096, .state_vectors = 1};

}  // namespace

TEST_CASE("what one process writes into a segment, another that has attached it reads") {
  const FileDescriptor file = make_shared_file();
  const auto made = Segment::create(file.get(), kShape);
  const auto attached = Segment::attach(file.get(), kShape);

  made->version(0).weights[5002] = 1.5F;
  made->version(1).state[0][0] = 2.5F;
  made->gradient(3)[17] = 3.5F;
  made->sqr_norm(4) = 4.5;
  made->rank_sqr_norms(4)[1023] = 5.5;

  CHECK(attached->version(2).weights[5002] == 1.5F);
  CHECK(attached->version(3).state[0][0] == 2.5F);
  CHECK(attached->gradient(3)[17] == 3.5F);
  CHECK(attached->sqr_norm(4) == 4.5);
  CHECK(attached->rank_sqr_norms(4)[1023] == 5.5);
}

TEST_CASE("no two parts of a segment overlap") {
  const FileDescriptor file = make_shared_file();
  const auto segment = Segment::create(file.get(), kShape);
  std::vector<std::span<float>> parts;
  for (const std::uint64_t iteration : {0U, 1U})
    for (const auto& vector :
         {segment->version(iteration).weights, segment->version(iteration).state[0]})
      parts.push_back(vector);
  for (const std::uint32_t slot : {0U, 1U, 2U}) parts.push_back(segment->gradient(slot));

  for (std::size_t i = 0; i < parts.size(); ++i)
    std::fill(parts[i].begin(), parts[i].end(), static_cast<float>(i));
  for (std::uint32_t chunk = 0; chunk < segment->layout().chunk_count(); ++chunk)
    segment->rank_sqr_norms(chunk)[kMostWorkers - 1] = segment->sqr_norm(chunk) = -1.0;

  for (std::size_t i = 0; i < parts.size(); ++i)
    CHECK(std::set<float>(parts[i].begin(), parts[i].end()) == std::set{static_cast<float>(i)});
  CHECK(segment->header().shape == kShape);
}

TEST_CASE("a segment that is there is taken as it is; one of another shape is refused") {
  const FileDescriptor file = make_shared_file();
  CHECK_FALSE(Segment::iteration_in(file.get()));
  CHECK_THROWS_AS(Segment::attach(file.get(), kShape), ProtocolError);
  Segment::create(file.get(), kShape)->board().begin_membership(7, 1);

  const auto again = Segment::create(file.get(), kShape);

  CHECK(again->board().iteration() == 7);
  CHECK(Segment::iteration_in(file.get()) == 7U);
  for (SegmentShape other : {SegmentShape{5004, 4096, 1}, {5003, 8192, 1}, {5003, 4096, 2}}) {
    CHECK_THROWS_AS(Segment::create(file.get(), other), ProtocolError);
    CHECK_THROWS_AS(Segment::attach(file.get(), other), ProtocolError);
  }
}

TEST_CASE("each slot has memory of its own, also one below a slot that was there before") {
  const FileDescriptor file = make_shared_file();
  const auto segment = Segment::create(file.get(), kShape);
  const auto bytes_in_memory = [&] {
    struct stat status {};
    REQUIRE(::fstat(file.get(), &status) == 0);
    return 512 * static_cast<std::uint64_t>(status.st_blocks);
  };
  segment->gradient(kMostWorkers - 1);

  for (const std::uint32_t slot : {3U, 0U, 7U}) {
    const std::uint64_t before = bytes_in_memory();
    segment->gradient(slot);
    CHECK(bytes_in_memory() >= before + kShape.flat_size * sizeof(float));
  }
}

TEST_CASE("a file that holds something else is no segment") {
  const FileDescriptor file = make_shared_file();
  REQUIRE(::fallocate(file.get(), 0, 0, 1 << 20) == 0);

  CHECK_FALSE(Segment::iteration_in(file.get()));
  CHECK_THROWS_AS(Segment::attach(file.get(), kShape), ProtocolError);
}
