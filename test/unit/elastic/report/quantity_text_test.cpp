#include "elastic/report/quantity_text.h"

#include <catch2/catch.hpp>

namespace scavenger::elastic {

TEST_CASE("Counts are grouped by thousands") {
  CHECK(format_count(0) == "0");
  CHECK(format_count(999) == "999");
  CHECK(format_count(1000) == "1,000");
  CHECK(format_count(1234567) == "1,234,567");
}

TEST_CASE("Small sums show fractions of a cent") {
  CHECK(format_dollars(0.00123) == "$0.0012");
  CHECK(format_dollars(12.345) == "$12.35");
}

TEST_CASE(
    "A sum that is less than nothing has its sign before the dollars, a rounding error none") {
  CHECK(format_dollars(-1e-18) == "$0.0000");
  CHECK(format_dollars(-0.0) == "$0.0000");
  CHECK(format_dollars(-0.25) == "-$0.2500");
  CHECK(format_dollars(-3.5) == "-$3.50");
}

TEST_CASE("Brief times keep three digits") {
  CHECK(format_brief_seconds(0.00042) == "420 us");
  CHECK(format_brief_seconds(0.003142) == "3.14 ms");
  CHECK(format_brief_seconds(1.254) == "1.25 s");
}

TEST_CASE("Shares of right answers are percentages") {
  CHECK(format_metric(Split::kTest, Metric::kAccuracy, 0.875) == "test accuracy 87.50 %");
  CHECK(format_metric(Split::kTest, Metric::kTop5Accuracy, 0.9968) ==
        "test top-5 accuracy 99.68 %");
  CHECK(format_metric(Split::kTrain, Metric::kLoss, 0.31239) == "train loss 0.3124");
}

TEST_CASE("A name cannot drive the terminal") {
  CHECK(printable("a\x1b[2Jb\nc\x7f") == "a?[2Jb?c?");
  CHECK(printable("\xc2\x9b"
                  "2J") == "?2J");
  CHECK(printable("caf\xc3\xa9 \xc2\xb5s") == "caf\xc3\xa9 \xc2\xb5s");
}

TEST_CASE("A text is cut at the width, between characters, and says so") {
  CHECK(fit_to_width("12345", 5) == "12345");
  CHECK(fit_to_width("123456", 5) == "12...");
  CHECK(fit_to_width("\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9", 5).size() == 10);
  CHECK(fit_to_width("\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9", 5) ==
        "\xc3\xa9\xc3\xa9...");
  CHECK(fit_to_width("123456", 2) == "12");
}

TEST_CASE("A text is broken between words, and what goes on is indented") {
  CHECK(wrap_to_width("one two three", 13) == "one two three");
  CHECK(wrap_to_width("one two three", 12) == "one two\n    three");
  CHECK(wrap_to_width("one two three", 7) == "one two\n    three");
  CHECK(wrap_to_width("one two three", 8) == "one two\n    three");
  CHECK(wrap_to_width("  one   two", 6) == "  one\n    two");
  CHECK(wrap_to_width("a/path/without/blanks follows", 8) == "a/path/without/blanks\n    follows");
  CHECK(wrap_to_width("a\nlonger line", 7) == "a\nlonger\n    line");
  CHECK(wrap_to_width("\xc3\xa9\xc3\xa9 \xc3\xa9\xc3\xa9", 5) ==
        "\xc3\xa9\xc3\xa9 \xc3\xa9\xc3\xa9");
  CHECK(wrap_to_width("word word", 1) == "word\n    word");
  CHECK(wrap_to_width("     ", 2) == "     ");
  CHECK(wrap_to_width("", 5) == "");
}

}  // namespace scavenger::elastic
