// One member of an all-reduce group, told what to do line by line (c10d_test.py):
//
//   join EPOCH RANK SIZE PORT   meets the others at the member that serves this port
//   sum FLOATS                  adds up vectors of RANK + 1, three at a time
//   broadcast SOURCE            hands the rank round
//   interrupt, allow            at once, whatever else is under way
//
// Says its own port first, and then one line for each: "ok VALUE", or "failed: why".
#include <condition_variable>
#include <csignal>
#include <cstdint>
#include <deque>
#include <iostream>
#include <memory>
#include <mutex>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "runtime/base/error.h"
#include "runtime/torch/c10d/c10d.h"

namespace scavenger {
namespace {

class Member final {
 public:
  Member() : place_(open_meeting_place("127.0.0.1")) {
    C10dOptions options;
    options.address = "127.0.0.1";
    options.key_prefix = "test";
    collective_ = make_c10d_collective(options);
  }

  std::uint16_t port() const { return place_->port(); }
  Collective& collective() { return *collective_; }

  float carry_out(const std::string& line) {
    std::istringstream words(line);
    std::string command;
    words >> command;
    if (command == "join") return join(words);
    if (command == "sum") return sum(words);
    float value = static_cast<float>(rank_);
    std::uint32_t source = 0;
    words >> source;
    collective_->broadcast({&value, 1}, source);
    return value;
  }

 private:
  float join(std::istream& words) {
    SyncGroup group;
    std::uint32_t size = 0;
    std::uint16_t port = 0;
    words >> group.membership.epoch >> group.rank >> size >> port;
    group.membership.shares.assign(size, 1);
    group.shards = {{"127.0.0.1", port}};
    rank_ = group.rank;
    collective_->join(group);
    return 0.0F;
  }

  float sum(std::istream& words) {
    std::size_t floats = 0;
    words >> floats;
    std::vector<std::vector<float>> vectors(3, std::vector<float>(floats));
    for (auto& values : vectors)
      std::fill(values.begin(), values.end(), static_cast<float>(rank_ + 1));
    try {
      for (auto& values : vectors) collective_->begin_sum(values);
      for (std::size_t i = 0; i < vectors.size(); ++i) collective_->finish_sum();
    } catch (const Error&) {
      collective_->leave();
      throw;
    }
    for (const auto& values : vectors)
      for (const float value : values)
        if (value != vectors[0][0]) return -1.0F;
    return vectors[0][0];
  }

  std::unique_ptr<MeetingPlace> place_;
  std::unique_ptr<Collective> collective_;
  std::uint32_t rank_ = 0;
};

class Lines final {
 public:
  void put(std::string line) {
    const std::lock_guard lock(mutex_);
    lines_.push_back(std::move(line));
    changed_.notify_one();
  }
  std::string take() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !lines_.empty(); });
    std::string line = std::move(lines_.front());
    lines_.pop_front();
    return line;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::string> lines_;
};

void work(Member& member, Lines& lines) {
  for (std::string line = lines.take(); line != "end"; line = lines.take()) {
    std::string answer;
    try {
      answer = "ok " + std::to_string(member.carry_out(line));
    } catch (const Error& error) {
      answer = "failed: " + error.problem().what;
    }
    std::cout << answer << std::endl;
  }
}

}  // namespace
}  // namespace scavenger

int main() {
  using namespace scavenger;
  std::signal(SIGPIPE, SIG_IGN);
  Member member;
  std::cout << member.port() << std::endl;
  Lines lines;
  std::thread worker([&] { work(member, lines); });
  for (std::string line; std::getline(std::cin, line);) {
    if (line == "interrupt")
      member.collective().interrupt();
    else if (line == "allow")
      member.collective().allow();
    else
      lines.put(line);
  }
  member.collective().interrupt();
  lines.put("end");
  worker.join();
  return 0;
}
