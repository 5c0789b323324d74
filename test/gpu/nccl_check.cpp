// NCCL with one rank, as a machine with one GPU has it: makes a communicator, adds up, hands round,
// keeps it for the next group, finalises it, aborts another one; and tells how long
// each took, as JSON. On the CPU the same code runs with the tests' NCCL (fake_nccl.h).
#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string>
#include <type_traits>
#include <vector>

#include "runtime/base/clock.h"
#include "runtime/base/error.h"
#include "runtime/collective/nccl_link.h"
#include "runtime/config/job_config.h"
#include "runtime/torch/c10d/c10d.h"
#include "runtime/torch/trainer/tensor_replica.h"
#include "runtime/torch/trainer/torch_trainer.h"
#include "test/unit/runtime/collective/fake_nccl.h"

namespace scavenger {
namespace {

const SteadyClock real_time;

class Check final {
 public:
  Check(Device device, std::size_t floats)
      : calls_(device == Device::kCuda ? make_nccl_calls(0) : std::make_shared<FakeNccl>(world_)),
        connector_(
            calls_,
            [world = world_](const SyncGroup& group) {
              return std::make_unique<FakeStore>(world, std::to_string(group.membership.epoch));
            },
            real_time, 2.0),
        values_(floats) {
    std::iota(values_.begin(), values_.end(), 1.0F);
    OptimizerConfig optimizer;
    optimizer.type = OptimizerType::kSgd;
    optimizer.momentum = 0.0;
    replica_ = make_tensor_replica(floats, optimizer, choose_device(device, 0));
    replica_->load(0, 0, 0, values_);
  }

  nlohmann::json run() {
    auto first = timed("first_communicator_seconds", [&] { return connect(nullptr, 0); });
    timed("first_sum_seconds", [&] { return sum(*first); });
    for (int i = 0; i < 10; ++i) timed("sum_seconds", [&] { return sum(*first); });
    timed("broadcast_seconds", [&] {
      return first->begin_broadcast(replica_->vector(0, 0), 0, always)->wait(always), 0;
    });
    first->check();
    require_equal();
    auto kept = timed("kept_communicator_seconds", [&] { return connect(first, 12); });
    require(kept == first, "an intact communicator was not kept");
    timed("finalise_seconds", [&] { return kept->end(LinkEnd::kFinalise), 0; });
    auto second = timed("second_communicator_seconds", [&] { return connect(nullptr, 0); });
    sum(*second);
    timed("abort_seconds", [&] { return second->end(LinkEnd::kAbort), 0; });
    auto third = connect(nullptr, 0);  // after an abort
    sum(*third);
    require_equal();
    third->end(LinkEnd::kFinalise);
    require(world_->misuse.empty(), world_->misuse);
    return results_;
  }

 private:
  static bool always() { return true; }
  static void require(bool holds, const std::string& what) {
    if (!holds) throw JobError({.what = what, .where = "NCCL", .remedy = {}});
  }

  std::shared_ptr<Link> connect(std::shared_ptr<Link> previous, std::uint64_t completed) {
    SyncGroup group;
    group.membership.epoch = ++epoch_;
    group.membership.shares = {1};
    return connector_.prepare(group, std::move(previous), completed)->connect();
  }
  int sum(Link& link) {
    link.begin_sum(replica_->vector(0, 0), always)->wait(always);
    return 0;
  }
  // With one rank a sum is what it was made of.
  void require_equal() {
    std::vector<float> found(values_.size());
    replica_->save(0, 0, 0, found);
    require(found == values_, "the sum of one worker is not its own vector");
  }
  template <typename Do>
  std::invoke_result_t<Do> timed(const char* name, const Do& what) {
    const double begin_seconds = real_time.now_seconds();
    auto result = what();
    results_[name] = real_time.now_seconds() - begin_seconds;
    return result;
  }

  const std::shared_ptr<FakeNcclWorld> world_ = std::make_shared<FakeNcclWorld>();
  const std::shared_ptr<NcclCalls> calls_;
  NcclConnector connector_;
  std::vector<float> values_;
  std::unique_ptr<Replica> replica_;
  std::uint32_t epoch_ = 0;
  nlohmann::json results_;
};

}  // namespace
}  // namespace scavenger

int main(int argc, char** argv) {
  using namespace scavenger;
  CLI::App app("NCCL with one rank");
  std::string device = "cuda";
  std::size_t floats = std::size_t{1} << 20;
  app.add_option("--device", device)->check(CLI::IsMember({"cpu", "cuda"}));
  app.add_option("--floats", floats);
  CLI11_PARSE(app, argc, argv);
  try {
    std::cout << Check(device == "cpu" ? Device::kCpu : Device::kCuda, floats).run() << std::endl;
    return 0;
  } catch (const std::exception& error) {
    std::cerr << error.what() << std::endl;
    return 1;
  }
}
