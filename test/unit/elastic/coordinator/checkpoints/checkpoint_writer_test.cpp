#include "elastic/coordinator/checkpoints/checkpoint_writer.h"

#include <algorithm>
#include <boost/asio/executor_work_guard.hpp>
#include <catch2/catch.hpp>
#include <chrono>
#include <nlohmann/json.hpp>

#include "runtime/net/asio_loop.h"
#include "test/support/temporary_folder.h"

using namespace scavenger;
using namespace scavenger::elastic;

namespace {

const ProcessName kShard0{Role::kShard, 0}, kShard1{Role::kShard, 1}, kWorker0{Role::kWorker, 0};

// A checkpoint of a model of 100 parameters on two shards, without optimizer state.
class Writing final {
 public:
  explicit Writing(const std::vector<ProcessName>& holders = {kShard0, kShard1})
      : layout_(112, 128, static_cast<std::uint32_t>(holders.size())),
        writer_(
            loop_, disk_, folder_.path(), {3, true}, [this] { ++safe; },
            [this](const CheckpointOutcome& outcome) { outcomes.push_back(outcome); }) {
    Checkpoint base;
    base.iteration = 7;
    base.parameters.add("w", {100});
    base.config = nlohmann::json::object();
    writer_.begin(std::move(base), layout_, {}, holders, kWorker0, false);
  }

  void bring_pieces_of(std::uint32_t shard) {
    for (const std::uint32_t chunk : layout_.chunks_of(shard)) {
      const FrameHeader header{
          .type = FrameType::kState,
          .chunk = chunk,
          .iteration = 7,
          .rank = 0,
          .payload_bytes = static_cast<std::uint32_t>(layout_.range(chunk).size * sizeof(float))};
      std::ranges::fill(writer_.destination({Role::kShard, shard}, header), std::byte{0});
      writer_.arrived(header);
    }
  }
  void all_copy() {
    writer_.state_copied(kShard0, {7, 7});
    writer_.state_copied(kShard1, {7, 7});
    writer_.buffers_arrived(kWorker0, {});
  }
  // Until there is an outcome.
  void run() {
    while (outcomes.empty()) run_one();
  }
  void run_one() { REQUIRE(io_.run_one_for(std::chrono::seconds(20)) == 1); }

  CheckpointWriter& writer() { return writer_; }
  int safe = 0;
  std::vector<CheckpointOutcome> outcomes;

 private:
  const TemporaryFolder folder_;
  asio::io_context io_{1};
  asio::executor_work_guard<asio::io_context::executor_type> work_{io_.get_executor()};
  SteadyClock clock_;
  AsioLoop loop_{io_, clock_};
  LocalDisk disk_;
  const ps::ChunkLayout layout_;
  CheckpointWriter writer_;
};

}  // namespace

TEST_CASE(
    "training may go on when all have copied, and the checkpoint is written when all is there") {
  Writing writing;

  writing.all_copy();
  CHECK(writing.safe == 1);
  writing.bring_pieces_of(0);
  CHECK(writing.outcomes.empty());
  writing.bring_pieces_of(1);
  writing.run();

  CHECK(writing.outcomes.at(0).error.empty());
  CHECK(writing.outcomes.at(0).iteration == 7);
}

TEST_CASE(
    "a shard that is lost with its part leaves no checkpoint, once the others have sent theirs") {
  Writing writing;
  writing.all_copy();
  writing.bring_pieces_of(0);

  writing.writer().lose(kShard1);

  REQUIRE(writing.outcomes.size() == 1);
  CHECK(writing.outcomes[0].by_loss);
  CHECK(writing.outcomes[0].error.find("shard 1") != std::string::npos);
}

TEST_CASE(
    "what the others still owe is waited for, so that nothing comes into the next checkpoint") {
  Writing writing;
  writing.writer().state_copied(kShard0, {7, 7});

  writing.writer().lose(kShard1);
  writing.writer().lose(kWorker0);
  CHECK(writing.outcomes.empty());
  writing.bring_pieces_of(0);

  CHECK(writing.outcomes.size() == 1);
  CHECK(writing.safe == 0);
}

TEST_CASE("copies and state from whom nobody asked, or of another iteration, are refused") {
  Writing writing;
  CheckpointWriter& writer = writing.writer();
  const FrameHeader piece{
      .type = FrameType::kState, .chunk = 0, .iteration = 7, .payload_bytes = 128};

  CHECK_THROWS_AS(writer.state_copied(kShard0, {6, 7}), ProtocolError);
  CHECK_THROWS_AS(writer.state_copied(kWorker0, {7, 7}), ProtocolError);
  CHECK_THROWS_AS(writer.buffers_arrived(kShard0, {}), ProtocolError);
  CHECK_THROWS_AS(writer.destination(kWorker0, piece), ProtocolError);
  CHECK_THROWS_AS(writer.destination(kShard1, piece), ProtocolError);
  writing.all_copy();
  CHECK_THROWS_AS(writer.state_copied(kShard0, {7, 7}), ProtocolError);
  CHECK(writing.safe == 1);
}

TEST_CASE("a process that has given its part is not missed") {
  Writing writing;
  writing.all_copy();
  writing.bring_pieces_of(1);

  writing.writer().lose(kShard1);
  writing.writer().lose(kWorker0);
  writing.bring_pieces_of(0);
  writing.run();

  CHECK(writing.outcomes.at(0).error.empty());
}

TEST_CASE("the last good checkpoint is found, and where there is none, that is said") {
  Writing writing;
  std::optional<std::optional<LoadedCheckpoint>> found;
  const auto look = [&] {
    found.reset();
    writing.writer().find_last(
        [](const Error&) {},
        [&](std::optional<LoadedCheckpoint> last) { found = std::move(last); });
  };
  look();
  writing.all_copy();
  writing.bring_pieces_of(0);
  writing.bring_pieces_of(1);
  writing.run();
  REQUIRE(found);
  CHECK_FALSE(*found);

  look();
  while (!found) writing.run_one();
  REQUIRE(*found);
  CHECK((*found)->content.iteration == 7);
}

TEST_CASE("where a worker has all of the state, its loss before it was sent leaves no checkpoint") {
  Writing writing({kWorker0});
  writing.writer().state_copied(kWorker0, {7, 7});
  CHECK(writing.safe == 0);
  writing.writer().buffers_arrived(kWorker0, {});
  CHECK(writing.safe == 1);
  CHECK_THROWS_AS(writing.writer().buffers_arrived(kWorker0, {}), ProtocolError);

  writing.writer().lose({Role::kWorker, 1});
  CHECK(writing.outcomes.empty());
  writing.writer().lose(kWorker0);

  REQUIRE(writing.outcomes.size() == 1);
  CHECK(writing.outcomes[0].by_loss);
}
