#include "elastic/report/quantity_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <sstream>

namespace scavenger::elastic {
namespace {

bool begins_character(char c) {
  return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
}

// Where character number `count` begins, or the end of the text.
std::size_t offset_of_character(const std::string& text, std::size_t count) {
  std::size_t seen = 0;
  for (std::size_t i = 0; i < text.size(); ++i)
    if (begins_character(text[i]) && seen++ == count) return i;
  return text.size();
}

}  // namespace

std::string format_count(std::uint64_t count) {
  std::string digits = std::to_string(count);
  for (std::size_t i = digits.size(); i > 3;) digits.insert(i -= 3, 1, ',');
  return digits;
}

std::string format_dollars(double dollars) {
  const double size = std::abs(dollars);
  const bool is_negative = dollars <= -0.00005;  // others are rounding errors of sums
  return (is_negative ? "-" : "") +
         (size < 1.0 ? fmt::format("${:.4f}", size) : fmt::format("${:.2f}", size));
}

std::string format_brief_seconds(double seconds) {
  if (seconds < 1e-3) return fmt::format("{:.0f} us", seconds * 1e6);
  if (seconds < 1.0) return fmt::format("{:.3g} ms", seconds * 1e3);
  return fmt::format("{:.2f} s", seconds);
}

std::string format_metric(Split split, Metric metric, double value) {
  return fmt::format("{} {} {}", name_of(split), entry_of(metric).title,
                     format_metric_value(metric, value));
}

std::string format_metric_value(Metric metric, double value) {
  switch (entry_of(metric).scale) {
    case MetricScale::kShare:
      return fmt::format("{:.2f} %", value * 100.0);
    case MetricScale::kPoints:
      return fmt::format("{:.2f}", value);
    case MetricScale::kOpen:
      return fmt::format("{:.4f}", value);
  }
  return {};
}

std::string printable(std::string_view text) {
  std::string line;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    // The second set of control characters, U+0080 to U+009F, is C2 80 to C2 9F in UTF-8.
    const bool second_set =
        byte == 0xC2 && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xA0;
    if (second_set) ++i;
    line += byte < 0x20 || byte == 0x7F || second_set ? '?' : text[i];
  }
  return line;
}

std::string fit_to_width(const std::string& text, std::size_t width) {
  if (offset_of_character(text, width) == text.size()) return text;
  if (width <= 3) return text.substr(0, offset_of_character(text, width));
  return text.substr(0, offset_of_character(text, width - 3)) + "...";
}

std::string wrap_to_width(const std::string& text, std::size_t width) {
  std::string wrapped, line;
  std::istringstream lines(text);
  while (std::getline(lines, line)) {
    while (offset_of_character(line, width) < line.size()) {
      const std::size_t begin = line.find_first_not_of(' ');
      const std::size_t limit = offset_of_character(line, width);
      if (begin == std::string::npos) break;
      std::size_t space = line.rfind(' ', limit);
      if (space == std::string::npos || space < begin)
        space = line.find(' ', std::max(limit, begin));
      const std::size_t rest = line.find_first_not_of(' ', space);
      if (space == std::string::npos || rest == std::string::npos) break;
      wrapped += line.substr(0, line.find_last_not_of(' ', space) + 1) + "\n";
      line = "    " + line.substr(rest);
    }
    wrapped += line + "\n";
  }
  if (!wrapped.empty()) wrapped.pop_back();  // the last line's end is the caller's
  return wrapped;
}

}  // namespace scavenger::elastic
