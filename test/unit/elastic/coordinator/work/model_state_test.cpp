#include "elastic/coordinator/work/model_state.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "runtime/base/error.h"

using namespace scavenger;
using namespace scavenger::elastic;

namespace {

const ProcessName kWorker{Role::kWorker, 4};

TensorLayout layout_of(std::int64_t size) {
  TensorLayout layout;
  layout.add("w", {size});
  return layout;
}

Joined worker_with(std::int64_t parameters, std::uint16_t port = 0) {
  Joined joined;
  joined.parameters = layout_of(parameters);
  joined.buffers = layout_of(16);
  joined.port = port;
  return joined;
}

LoadedCheckpoint checkpoint_of(std::int64_t parameters) {
  LoadedCheckpoint loaded;
  loaded.folder = "c7";
  loaded.content.iteration = 7;
  loaded.content.optimizer.step_count = 9;
  loaded.content.parameters = layout_of(parameters);
  loaded.content.buffers = layout_of(16);
  loaded.content.buffer_values.assign(16, 2.0F);
  return loaded;
}

// Workers 4 and 6 on one shard.
class ModelStateTest {
 protected:
  MembershipPlaces places() const {
    return {membership, {{4, 40, "a", 1}, {6, 60, "b", 3}}, {"controller"}};
  }

  JobConfig config;
  Membership membership{2, 8, {4, 4}, 7, 56};
  ModelState state{config, 1, 100};
};

}  // namespace

TEST_CASE_METHOD(ModelStateTest, "The first worker says what the model is, the others agree") {
  CHECK_FALSE(state.join({Role::kShard, 0}, Joined{}));
  CHECK(state.join(kWorker, worker_with(32)));
  CHECK_FALSE(state.join({Role::kWorker, 6}, worker_with(32)));
  CHECK_THROWS_AS(state.join({Role::kWorker, 7}, worker_with(48)), ProtocolError);
  CHECK_THROWS_AS(state.require_buffers(kWorker, std::vector<float>(3)), ProtocolError);
}

TEST_CASE_METHOD(ModelStateTest, "A checkpoint of another model is a problem") {
  state.join(kWorker, worker_with(32));
  CHECK_FALSE(state.problem());
  state.start_from(checkpoint_of(32));
  CHECK_FALSE(state.problem());
  state.start_from(checkpoint_of(48));
  REQUIRE(state.problem());
  CHECK(state.problem()->find("c7") != std::string::npos);
}

TEST_CASE_METHOD(ModelStateTest, "A shard is told whether it goes on, restores or begins") {
  state.join(kWorker, worker_with(32));
  const auto told = [&](StateSource source) {
    return state.shard_message({source}, membership, {4, 6}, 0);
  };
  CHECK(told(StateSource::kPresent).goes_on);
  CHECK_FALSE(told(StateSource::kInitial).goes_on);
  state.start_from(checkpoint_of(32));
  const ConfigureShard restores = told(StateSource::kCheckpoint);
  CHECK(restores.has_state);
  CHECK(restores.optimizer_steps == 9);
  CHECK(restores.flat_size == 32);
  CHECK(restores.samples_per_epoch == 100);
}

TEST_CASE_METHOD(ModelStateTest, "A worker is told who speaks for its host") {
  config.cluster.hosts.resize(2);
  config.cluster.hosts[0].workers = 2;
  Joined shard;
  shard.port = 5000;
  state.join({Role::kShard, 0}, shard);
  for (const std::uint32_t index : {0U, 1U, 2U}) {
    Joined worker = worker_with(32);
    worker.port = static_cast<std::uint16_t>(7000 + index);
    state.join({Role::kWorker, index}, worker);
  }
  membership.shares = {4, 2, 2};
  const MembershipPlaces three{
      membership, {{2, 20, "b", 1}, {0, 10, "a", 1}, {1, 11, "a", 1}}, {"controller"}};
  const auto group_of = [&](std::uint32_t rank) {
    return state.worker_message({}, three, rank).group;
  };
  CHECK(group_of(0).hosts == std::vector<std::uint32_t>{1, 0, 0});
  CHECK(group_of(0).uplink_pid == 20);
  CHECK(group_of(1).uplink_pid == 10);
  CHECK(group_of(2).uplink_pid == 10);

  config.sync.hierarchy = SyncHierarchy::kOff;
  CHECK(group_of(0).hosts.empty());
  config.sync.hierarchy = SyncHierarchy::kNccl;
  CHECK(group_of(0).hosts == std::vector<std::uint32_t>{1, 0, 0});
  CHECK(group_of(0).host_meeting == ShardAddress{"b", 7002, false});
  CHECK(group_of(1).host_meeting == ShardAddress{"a", 7000, false});
  CHECK(group_of(2).host_meeting == ShardAddress{"a", 7000, false});
  config.cluster.hosts.clear();  // all on this machine
  CHECK(group_of(0).hosts == std::vector<std::uint32_t>{0, 0, 0});
  CHECK(group_of(1).host_meeting == ShardAddress{"b", 7002, false});
  config.sync.hierarchy = SyncHierarchy::kAutomatic;
  CHECK(group_of(0).hosts.empty());
}

TEST_CASE_METHOD(ModelStateTest,
                 "A worker is told its rank, its threads, and where the shards are") {
  Joined shard;
  shard.port = 5000;
  state.join({Role::kShard, 0}, shard);
  state.join(kWorker, worker_with(32));
  ConfigureWorkers action;
  action.source = StateSource::kInitial;
  state.begin(action);

  const ConfigureWorker first = state.worker_message(action, places(), 0);
  const ConfigureWorker second = state.worker_message(action, places(), 1);

  CHECK(first.group.writes_initial_weights);
  CHECK_FALSE(second.group.writes_initial_weights);
  CHECK(second.group.rank == 1);
  CHECK(second.group.threads == 3);
  CHECK(second.group.slots == std::vector<std::uint32_t>{4, 6});
  CHECK(second.group.hosts.empty());
  CHECK(second.group.uplink_pid == 0);
  REQUIRE(second.group.shards.size() == 1);
  CHECK(second.group.shards[0].host == "controller");
  CHECK(second.group.shards[0].port == 5000);
  CHECK_FALSE(second.has_buffers);
}

TEST_CASE_METHOD(ModelStateTest,
                 "Newcomers get the buffers that are known, the others keep theirs") {
  state.join(kWorker, worker_with(32));
  state.offer_buffers(4, 7, std::vector<float>(16, 3.0F));
  ConfigureWorkers action;
  action.source = StateSource::kPresent;
  action.newcomers = {6};
  state.begin(action);

  CHECK_FALSE(state.worker_message(action, places(), 0).has_buffers);
  CHECK(state.worker_message(action, places(), 1).buffers == std::vector<float>(16, 3.0F));

  state.start_from(checkpoint_of(32));  // then all get those of the checkpoint
  action.source = StateSource::kCheckpoint;
  state.begin(action);
  CHECK(state.worker_message(action, places(), 0).buffers == std::vector<float>(16, 2.0F));
}

TEST_CASE("Workers that keep the state meet at the source, which gets the checkpoint's") {
  JobConfig config;
  ModelState state(config, 0, 100);
  state.join({Role::kWorker, 4}, worker_with(32, 4000));
  state.join({Role::kWorker, 6}, worker_with(32, 6000));
  state.start_from(checkpoint_of(32));
  const Membership membership{2, 8, {4, 4}, 7, 56};
  const MembershipPlaces places{membership, {{4, 40, "a", 1}, {6, 60, "b", 1}}, {}};
  ConfigureWorkers action;
  action.source = StateSource::kCheckpoint;
  action.source_rank = 1;
  action.shares_state = true;
  state.begin(action);

  const ConfigureWorker other = state.worker_message(action, places, 0);
  const ConfigureWorker source = state.worker_message(action, places, 1);

  REQUIRE(other.group.shards.size() == 1);
  CHECK(other.group.shards[0].host == "b");
  CHECK(other.group.shards[0].port == 6000);
  CHECK(other.group.shares_state);
  CHECK(other.group.optimizer_steps == 9);  // two ahead of the iterations
  CHECK(other.state_pieces == 0);
  CHECK(source.state_pieces > 0);
}
