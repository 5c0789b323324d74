#include "runtime/collective/group_life.h"

#include "runtime/base/check.h"

namespace scavenger {
namespace {

std::string too_late(const char* what, double seconds) {
  return std::string(what) + " took more than " + std::to_string(static_cast<long>(seconds)) + " s";
}

}  // namespace

std::optional<std::uint64_t> GroupLife::begin_connecting(double now_seconds) {
  SCAVENGER_CHECK(stage_ == Stage::kNone);
  if (interrupted_) return std::nullopt;
  problem_.clear();
  stage_ = Stage::kConnecting;
  since_seconds_ = now_seconds;
  return ++attempt_;
}

bool GroupLife::connected(std::uint64_t attempt, double now_seconds) {
  if (!wants(attempt)) return false;
  stage_ = Stage::kConnected;
  since_seconds_ = now_seconds;
  operations_ = 0;
  completed_ = 0;
  return true;
}

void GroupLife::connecting_failed(std::uint64_t attempt, const std::string& problem) {
  if (!wants(attempt)) return;
  stage_ = Stage::kNone;
  problem_ = problem;
}

bool GroupLife::begin_operation(double now_seconds) {
  if (interrupted_ || stage_ != Stage::kConnected) return false;
  if (operations_++ == 0) since_seconds_ = now_seconds;
  return true;
}

void GroupLife::complete_operation(double now_seconds) {
  if (stage_ != Stage::kConnected) return;  // it completed while the connection was being ended
  SCAVENGER_CHECK(operations_ > 0);
  --operations_;
  ++completed_;
  since_seconds_ = now_seconds;
}

void GroupLife::begin_ending(LinkEnd end, double now_seconds) {
  stage_ = Stage::kEnding;
  end_ = end;
  is_being_ended_ = false;
  since_seconds_ = now_seconds;
}

void GroupLife::leave(double now_seconds) {
  if (stage_ == Stage::kConnecting) stage_ = Stage::kNone;
  if (stage_ == Stage::kConnected)
    begin_ending(operations_ > 0 ? LinkEnd::kAbort : LinkEnd::kFinalise, now_seconds);
}

bool GroupLife::release_idle() {
  if (stage_ != Stage::kConnected || operations_ > 0 || interrupted_) return false;
  stage_ = Stage::kNone;
  return true;
}

void GroupLife::failed(const std::string& problem, double now_seconds) {
  if (stage_ != Stage::kConnected) return;
  problem_ = problem;
  begin_ending(LinkEnd::kAbort, now_seconds);
}

// A connection without operations stays: it is finalised when the worker leaves the group, or is
// used for the next one.
void GroupLife::interrupt(double now_seconds) {
  interrupted_ = true;
  if (stage_ == Stage::kConnecting) stage_ = Stage::kNone;
  if (stage_ == Stage::kConnected && operations_ > 0) begin_ending(LinkEnd::kAbort, now_seconds);
}

void GroupLife::check(double now_seconds) {
  const double waited_seconds = now_seconds - since_seconds_;
  switch (stage_) {
    case Stage::kConnecting:
      if (waited_seconds > limits_.connect_seconds)
        connecting_failed(attempt_, too_late("connecting", limits_.connect_seconds));
      break;
    case Stage::kConnected:
      if (operations_ > 0 && waited_seconds > limits_.operation_seconds)
        failed(too_late("an operation", limits_.operation_seconds), now_seconds);
      break;
    case Stage::kEnding:
      if (is_being_ended_ && waited_seconds > limits_.end_seconds) {
        stage_ = Stage::kStuck;
        problem_ = too_late("ending a connection", limits_.end_seconds);
      }
      break;
    case Stage::kNone:
    case Stage::kStuck:
      break;
  }
}

std::optional<LinkEnd> GroupLife::take_end(double now_seconds) {
  if (!has_end()) return std::nullopt;
  is_being_ended_ = true;
  since_seconds_ = now_seconds;
  return end_;
}

void GroupLife::ended() {
  SCAVENGER_CHECK(is_being_ended_);
  is_being_ended_ = false;
  operations_ = 0;
  stage_ = Stage::kNone;
}

}  // namespace scavenger
