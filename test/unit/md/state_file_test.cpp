#include "md/state_file.h"

#include <catch2/catch.hpp>
#include <filesystem>

#include "runtime/base/error.h"
#include "runtime/base/file.h"
#include "test/support/temporary_folder.h"

using namespace scavenger;
using namespace scavenger::md;

namespace {

State sample_state(std::int64_t step) {
  State state;
  state.identity = "a test";
  state.phase = {.step = step, .positions = {{1, 2, 3}, {4, 5, 6}}, .velocities = {{7, 8, 9}, {}}};
  state.averages = Averages(2, 3, 4);
  for (int i = 0; i < 6; ++i) {
    state.averages.add_value(1, 0.5 * i);
    state.averages.add_count(2);
    state.averages.end_sample();
  }
  return state;
}

}  // namespace

TEST_CASE("a state is read as it was written") {
  TemporaryFolder folder;
  CHECK(!read_state(folder.path()));
  write_state(sample_state(5), folder.path());
  const auto state = read_state(folder.path());
  REQUIRE(state);
  CHECK(encode_state(*state) == encode_state(sample_state(5)));
  CHECK(state->averages.value(1).mean == Approx(1.25));
}

TEST_CASE("if the newest state is damaged, the one before counts") {
  TemporaryFolder folder;
  write_state(sample_state(5), folder.path());
  write_state(sample_state(9), folder.path());
  CHECK(read_state(folder.path())->phase.step == 9);
  const auto newest = folder.path() / "state.bin";
  std::filesystem::resize_file(newest, std::filesystem::file_size(newest) / 2);
  CHECK(read_state(folder.path())->phase.step == 5);
  std::filesystem::remove(newest);  // killed between the two renames
  CHECK(read_state(folder.path())->phase.step == 5);
  write_file_atomically(folder.path() / "state.before", "nothing");
  CHECK_THROWS_AS(read_state(folder.path()), CheckpointError);
}

TEST_CASE("every changed byte and every cut is noticed") {
  const std::string whole = encode_state(sample_state(5));
  CHECK_NOTHROW(decode_state(whole, "here"));
  for (std::size_t i = 0; i < whole.size(); ++i) {
    std::string changed = whole;
    changed[i] = static_cast<char>(changed[i] ^ 1);
    CHECK_THROWS_AS(decode_state(changed, "here"), CheckpointError);
    CHECK_THROWS_AS(decode_state(whole.substr(0, i), "here"), CheckpointError);
  }
}
