// What NCCL's documentation says about non-blocking communicators, among threads of a test and in
// ordinary memory. It notes each use that NCCL forbids.
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/collective/nccl_calls.h"

namespace scavenger {

// What all workers have in common: the network, so to speak.
class FakeNcclWorld final {
 public:
  struct Operation {
    std::map<int, std::span<float>> values;
    int source = -1;  // of a broadcast
    bool is_done = false;
  };
  struct Group {
    std::size_t size = 0;
    std::set<int> come;
    std::vector<Operation> operations;
    bool has_failed = false;
  };
  struct Communicator {
    std::shared_ptr<Group> group;
    int rank = 0;
    std::size_t launched = 0;
    std::shared_ptr<Communicator> growing_child;
    void** child = nullptr;
    bool is_over = false;  // aborted or destroyed
    bool is_finalised = false;
  };

  std::mutex mutex;
  std::condition_variable changed;
  std::map<std::string, std::shared_ptr<Group>> groups;
  std::map<std::string, std::map<std::string, std::string>> stores;
  int ids = 0, inits = 0, shrinks = 0, aborts = 0, destroys = 0;
  bool finalising_hangs = false, aborting_hangs = false;
  std::string misuse;

  std::shared_ptr<Group> group_of(const std::string& name, std::size_t size) {
    auto& found = groups[name];
    if (!found) found = std::make_shared<Group>();
    found->size = size;
    return found;
  }
};

class FakeNccl final : public NcclCalls {
 public:
  explicit FakeNccl(std::shared_ptr<FakeNcclWorld> world) : world_(std::move(world)) {}

  NcclId make_id() override {
    const std::lock_guard lock(world_->mutex);
    NcclId id;
    id.bytes[0] = static_cast<char>(++world_->ids);
    return id;
  }
  Communicator init(const NcclId& id, int size, int rank) override {
    const std::lock_guard lock(world_->mutex);
    ++world_->inits;
    const std::string name = "id " + std::to_string(id.bytes[0]);
    return make(world_->group_of(name, static_cast<std::size_t>(size)), rank).get();
  }
  void shrink(Communicator parent, std::vector<int> left, Communicator& child) override {
    const std::lock_guard lock(world_->mutex);
    ++world_->shrinks;
    Comm& from = use(parent);
    std::string name = "child of " + std::to_string(reinterpret_cast<std::uintptr_t>(&*from.group));
    for (const int rank : left) name += " " + std::to_string(rank);
    const auto before = std::ranges::count_if(left, [&](int rank) { return rank < from.rank; });
    from.growing_child = make(world_->group_of(name, from.group->size - left.size()),
                              from.rank - static_cast<int>(before));
    from.child = &child;
  }
  NcclState state(Communicator communicator) override {
    const std::lock_guard lock(world_->mutex);
    Comm& comm = use(communicator);
    if (comm.group->has_failed) return NcclState::kFailed;
    if (comm.is_finalised)
      return world_->finalising_hangs ? NcclState::kUnderWay : NcclState::kDone;
    if (comm.group->come.size() < comm.group->size) return NcclState::kUnderWay;
    if (comm.growing_child) {
      if (comm.growing_child->group->come.size() < comm.growing_child->group->size)
        return NcclState::kUnderWay;
      *comm.child = comm.growing_child.get();
      comm.growing_child.reset();
    }
    return NcclState::kDone;
  }
  std::string last_error(Communicator) override { return "a peer has failed"; }

  void all_reduce(Communicator communicator, std::span<float> values) override {
    launch(communicator, values, -1);
  }
  void broadcast(Communicator communicator, std::span<float> values, int source) override {
    launch(communicator, values, source);
  }

  Mark mark() override {
    const std::lock_guard lock(world_->mutex);
    return std::make_shared<Marked>(Marked{last_, last_->launched - 1});
  }
  // An event also comes if the communicator was aborted: its kernels end.
  bool reached(const Mark& mark) override {
    const std::lock_guard lock(world_->mutex);
    const auto* const marked = static_cast<const Marked*>(mark.get());
    return marked->comm->is_over || marked->comm->group->operations[marked->operation].is_done;
  }

  void finalise(Communicator communicator) override {
    const std::lock_guard lock(world_->mutex);
    use(communicator).is_finalised = true;
  }
  void destroy(Communicator communicator) noexcept override {
    const std::lock_guard lock(world_->mutex);
    Comm& comm = use(communicator);
    if (!comm.is_finalised) world_->misuse = "destroyed without finalising";
    comm.is_over = true;
    ++world_->destroys;
  }
  void abort(Communicator communicator) noexcept override {
    std::unique_lock lock(world_->mutex);
    Comm& comm = use(communicator);
    comm.is_over = true;
    ++world_->aborts;
    for (auto& operation : comm.group->operations)
      if (!operation.is_done) operation.values.erase(comm.rank);
    world_->changed.wait(lock, [this] { return !world_->aborting_hangs; });
  }

 private:
  using Comm = FakeNcclWorld::Communicator;
  struct Marked {
    std::shared_ptr<Comm> comm;
    std::size_t operation;
  };

  std::shared_ptr<Comm> make(std::shared_ptr<FakeNcclWorld::Group> group, int rank) {
    auto comm = std::make_shared<Comm>();
    comm->group = std::move(group);
    comm->rank = rank;
    comm->group->come.insert(rank);
    made_.push_back(comm);
    return comm;
  }
  Comm& use(Communicator communicator) {
    auto* const comm = static_cast<Comm*>(communicator);
    if (comm->is_over) world_->misuse = "a communicator was used after its end";
    return *comm;
  }
  void launch(Communicator communicator, std::span<float> values, int source) {
    const std::lock_guard lock(world_->mutex);
    Comm& comm = use(communicator);
    if (comm.group->come.size() < comm.group->size) world_->misuse = "used before it was ready";
    const std::size_t number = comm.launched++;
    auto& operations = comm.group->operations;
    operations.resize(std::max(operations.size(), number + 1));
    auto& operation = operations[number];
    operation.source = source;
    operation.values[comm.rank] = values;
    if (operation.values.size() == comm.group->size) carry_out(operation);
    last_ = *std::ranges::find_if(made_, [&](const auto& each) { return each.get() == &comm; });
  }
  static void carry_out(FakeNcclWorld::Operation& operation) {
    for (std::size_t i = 0; i < operation.values.begin()->second.size(); ++i) {
      float total = 0.0F;
      for (const auto& [rank, values] : operation.values)
        total += operation.source < 0 || rank == operation.source ? values[i] : 0.0F;
      for (const auto& [rank, values] : operation.values) values[i] = total;
    }
    operation.is_done = true;
  }

  const std::shared_ptr<FakeNcclWorld> world_;
  std::vector<std::shared_ptr<Comm>> made_;
  std::shared_ptr<Comm> last_;
};

class FakeStore final : public MeetingStore {
 public:
  FakeStore(std::shared_ptr<FakeNcclWorld> world, std::string name)
      : world_(std::move(world)), name_(std::move(name)) {}
  void set(const std::string& key, const std::string& value) override {
    const std::lock_guard lock(world_->mutex);
    world_->stores[name_][key] = value;
  }
  bool has(const std::string& key) override {
    const std::lock_guard lock(world_->mutex);
    return world_->stores[name_].contains(key);
  }
  std::string get(const std::string& key) override {
    const std::lock_guard lock(world_->mutex);
    return world_->stores[name_].at(key);
  }

 private:
  const std::shared_ptr<FakeNcclWorld> world_;
  const std::string name_;
};

}  // namespace scavenger
