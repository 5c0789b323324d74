// The calls of NCCL that a link makes, one for one, and the events of CUDA that go with them. With
// it all code that decides about communicators builds and runs without a GPU.
#pragma once

#include <array>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace scavenger {

struct NcclId {
  std::array<char, 128> bytes{};
};

enum class NcclState { kDone, kUnderWay, kFailed };

// Communicators are non-blocking: each call returns at once, and state() tells when it is complete.
// Only abort() and destroy() may take their time.
//
// Thread: any, but one at a time for each communicator. Nobody may use one after abort() or
// destroy(). Functions throw std::exception if the library refuses a call.
class NcclCalls {
 public:
  using Communicator = void*;
  using Mark = std::shared_ptr<void>;
  virtual ~NcclCalls() = default;

  virtual NcclId make_id() = 0;
  // The communicator can be passed to state() and abort() at once.
  virtual Communicator init(const NcclId& id, int size, int rank) = 0;
  // Writes the new communicator to `child` at some time before state(parent) is kDone.
  virtual void shrink(Communicator parent, std::vector<int> left, Communicator& child) = 0;
  virtual NcclState state(Communicator communicator) = 0;
  virtual std::string last_error(Communicator communicator) = 0;

  // Start on a stream of their own, after all that the caller's stream was given.
  virtual void all_reduce(Communicator communicator, std::span<float> values) = 0;
  virtual void broadcast(Communicator communicator, std::span<float> values, int source) = 0;
  // Marks the end of what was started. Requires that state() is kDone.
  virtual Mark mark() = 0;
  virtual bool reached(const Mark& mark) = 0;

  virtual void finalise(Communicator communicator) = 0;
  virtual void destroy(Communicator communicator) noexcept = 0;  // after finalise()
  virtual void abort(Communicator communicator) noexcept = 0;
};

// The key-value store in which the workers of one group find each other.
class MeetingStore {
 public:
  virtual ~MeetingStore() = default;
  // Throw std::exception if the store cannot be reached. Keys are written once.
  virtual void set(const std::string& key, const std::string& value) = 0;
  virtual bool has(const std::string& key) = 0;
  virtual std::string get(const std::string& key) = 0;  // requires has(key)
};

}  // namespace scavenger
