// How the terminal shows numbers and names. Pure functions; see runtime/base/text.h for more.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "runtime/vocabulary/metric.h"
#include "runtime/vocabulary/split.h"

namespace scavenger::elastic {

// "1,234,567".
std::string format_count(std::uint64_t count);

// "$0.0012", "$12.34": four decimals below a dollar, two from there on.
std::string format_dollars(double dollars);

// "420 us", "3.14 ms", "1.25 s": for what one iteration takes.
std::string format_brief_seconds(double seconds);

// One metric as people write it: "test accuracy 88.12 %", "train loss 0.3124".
std::string format_metric(Split split, Metric metric, double value);
std::string format_metric_value(Metric metric, double value);  // "88.12 %"

// Text from configurations, peers and logs on one line: control characters, which could drive the
// terminal, become '?'.
std::string printable(std::string_view text);

// The first `width` columns of a printable text, with "..." at the end if that cuts something.
// Counts a UTF-8 character as one column.
std::string fit_to_width(const std::string& text, std::size_t width);

// The same text in lines of at most `width` columns, broken between words; what goes on is indented
// by four. A word that is longer stays whole.
std::string wrap_to_width(const std::string& text, std::size_t width);

}  // namespace scavenger::elastic
