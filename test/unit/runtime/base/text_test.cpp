#include "runtime/base/text.h"

#include <catch2/catch.hpp>

#include "runtime/base/error.h"

namespace scavenger {

TEST_CASE("nearest_word finds a slip of the finger and ignores the unrelated") {
  const std::vector<std::string> keys = {"batch_size", "workers", "learning_rate"};
  CHECK(nearest_word("batchsize", keys) == "batch_size");
  CHECK(nearest_word("worker", keys) == "workers");
  CHECK(nearest_word("zebra", keys).empty());
}

TEST_CASE("A positive number is the whole text") {
  CHECK(positive_number("0.25") == 0.25);
  CHECK(positive_number("1e3") == 1000.0);
  for (const char* const text : {"", "0", "-1", "1x", " 1", "nan", "inf", "1e999"})
    CHECK_FALSE(positive_number(text));
}

TEST_CASE("Sizes and durations read as people write them") {
  CHECK(format_bytes(512) == "512 B");
  CHECK(format_bytes(1536) == "1.5 KiB");
  CHECK(format_duration(0.85) == "850 ms");
  CHECK(format_duration(12.34) == "12.3 s");
  CHECK(format_duration(245) == "4 min 05 s");
  CHECK(format_duration(3725) == "1 h 02 min");
}

TEST_CASE("Hexadecimal goes there and back, and refuses the rest") {
  const auto bytes = parse_hex("00ff7a");
  CHECK(to_hex(bytes) == "00ff7a");
  CHECK_THROWS_AS(parse_hex("0"), InputError);
  CHECK_THROWS_AS(parse_hex("0g"), InputError);
}

TEST_CASE("A word that needs no quotes has none") {
  for (const char* const word :
       {"runs/fashion_mlp", "/tmp/a-b_c.1", "user@host:22", "10%", "a,b+c"})
    CHECK(shell_quoted(word) == word);
}

TEST_CASE("A word that a shell would read as something else is quoted") {
  CHECK(shell_quoted("my run") == "'my run'");
  CHECK(shell_quoted("it's") == R"('it'\''s')");
  for (const std::string word :
       {"", "~", "a=b", "$x", "`x`", "a;b", "a*", "\\", "a\nb", "\xc3\xa9"})
    CHECK(shell_quoted(word) == "'" + word + "'");
}

}  // namespace scavenger
