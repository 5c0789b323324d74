#include "campaign/task/task_message.h"

#include <catch2/catch.hpp>

#include "runtime/base/error.h"
#include "runtime/base/random.h"

namespace scavenger::campaign {
namespace {

message::Run full_command() {
  message::Run run;
  run.task = 1ULL << 60;
  run.words = {"engine", "a b", "\"", "\xff"};
  run.checkpoint_files = {"state*"};
  run.result_files = {"r.json"};
  run.takes_checkpoints = true;
  run.stop_file = "stop";
  run.stop_signal = 15;
  return run;
}

TEST_CASE("A message survives its way", "[task_message]") {
  const auto decoded = std::get<message::Run>(decode_task_message(encode(full_command())));
  CHECK(decoded.task == 1ULL << 60);
  CHECK(decoded.words[1] == "a b");
  CHECK(decoded.stop_signal == 15);
  CHECK(decoded.takes_checkpoints);
  const message::PutFile file{7, "a/b.bin", 3, "00", true, true};
  const auto again = std::get<message::PutFile>(decode_task_message(encode(file)));
  CHECK(again.name == "a/b.bin");
  CHECK(again.bytes == 3);
  CHECK(std::holds_alternative<message::Leave>(decode_task_message(encode(message::Leave{}))));
}

TEST_CASE("A file outside of its folder is refused", "[task_message]") {
  for (const char* name : {"", "/etc/passwd", "../a", "a/../../b", "a/", ".", "a/./b"}) {
    INFO(name);
    CHECK_FALSE(is_inside(name));
    CHECK_THROWS_AS(decode_task_message(encode(message::PutFile{1, name, 0, "", false, false})),
                    ProtocolError);
  }
  CHECK(is_inside("a/b..c"));
  const message::PutFile large{1, "a", kMostFileBytes + 1, "", false, false};
  CHECK_THROWS_AS(decode_task_message(encode(large)), ProtocolError);
}

// Whatever comes, it is a message or refused.
TEST_CASE("Damaged messages are refused", "[task_message]") {
  for (const char* text :
       {"", "[]", "{}", "1", "{\"message\":\"run\"}", "{\"message\":\"none\",\"of\":{}}",
        "{\"message\":\"stop\",\"of\":{\"task\":\"x\"}}", "[[[[[[[[[[[[[[[["})
    CHECK_THROWS_AS(decode_task_message(text), ProtocolError);
  const std::string good = encode(full_command());
  RandomStream stream(1, "damage");
  for (int i = 0; i < 5000; ++i) {
    std::string bad = good;
    for (std::uint64_t changes = 1 + stream.below(4); changes > 0; --changes)
      bad[stream.below(bad.size())] = static_cast<char>(stream.below(256));
    bad.resize(stream.below(4) == 0 ? stream.below(bad.size()) : bad.size());
    try {
      decode_task_message(bad);
    } catch (const ProtocolError&) {  // as it should
    }
  }
}

}  // namespace
}  // namespace scavenger::campaign
