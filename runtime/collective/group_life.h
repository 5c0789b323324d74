// What becomes of one worker's connection to its group: plain state without threads, clocks or a
// library of collectives.
//
//   none --connect--> connecting --connected--> connected --leave, failure, limit--> ending -->
//   none
//                        |  abandoned: interrupt, leave, limit, failure                |
//                        +--> none                               ended after its limit: stuck
//
// The rules that keep a group from waiting for ever:
//   - A connection is ended exactly once. If operations are under way it is aborted, which makes
//     them return. Otherwise it is finalised, so that peers can complete what they have begun.
//   - An interruption holds until it is allowed again: nothing begins, and whatever waits gives up.
//   - A connection is established by an attempt with a number. The result of an attempt that was
//     abandoned is refused, however late it comes.
//   - Connecting, operations and ending have limits.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace scavenger {

enum class LinkEnd { kFinalise, kAbort };

struct GroupLimits {
  double connect_seconds = 20.0;
  double operation_seconds = 600.0;  // from the last operation that was completed to the next one
  double end_seconds = 20.0;         // until a connection that is ended no longer accesses memory
};

// Thread: none of its own; whoever shares an object protects it.
class GroupLife final {
 public:
  enum class Stage { kNone, kConnecting, kConnected, kEnding, kStuck };

  explicit GroupLife(const GroupLimits& limits) : limits_(limits) {}

  // ---- What the worker wants. Requires kNone for begin_connecting().
  // Returns the number of the attempt, or nothing while it is interrupted.
  std::optional<std::uint64_t> begin_connecting(double now_seconds);
  // Returns false if the caller has to give up.
  bool begin_operation(double now_seconds);
  void complete_operation(double now_seconds);
  void leave(double now_seconds);
  // Takes an idle connection out, to be used by the next group. Returns whether there was one.
  bool release_idle();

  // ---- What happens to the connection.
  // Returns false if nobody wants the connection any more: the caller aborts it.
  bool connected(std::uint64_t attempt, double now_seconds);
  void connecting_failed(std::uint64_t attempt, const std::string& problem);
  void failed(const std::string& problem, double now_seconds);
  void ended();

  // ---- What others want.
  void interrupt(double now_seconds);
  void allow() { interrupted_ = false; }
  // Applies the limits.
  void check(double now_seconds);

  // ---- What follows.
  Stage stage() const { return stage_; }
  bool interrupted() const { return interrupted_; }
  // Whether somebody waits for this attempt, and whether operations may go on.
  bool wants(std::uint64_t attempt) const {
    return stage_ == Stage::kConnecting && attempt == attempt_;
  }
  bool operates() const { return stage_ == Stage::kConnected; }
  // Returns how a connection is to be ended, once for each connection; ended() must follow.
  std::optional<LinkEnd> take_end(double now_seconds);
  bool has_end() const { return stage_ == Stage::kEnding && !is_being_ended_; }
  // Number of operations that this connection has completed.
  std::uint64_t completed() const { return completed_; }
  // Why the present or the last group failed; empty if it did not.
  const std::string& problem() const { return problem_; }

 private:
  void begin_ending(LinkEnd end, double now_seconds);

  const GroupLimits limits_;
  Stage stage_ = Stage::kNone;
  std::uint64_t attempt_ = 0;
  double since_seconds_ = 0.0;  // the present stage, or the last progress of operations
  std::uint32_t operations_ = 0;
  std::uint64_t completed_ = 0;
  LinkEnd end_ = LinkEnd::kFinalise;
  bool is_being_ended_ = false;
  bool interrupted_ = false;
  std::string problem_;
};

}  // namespace scavenger
