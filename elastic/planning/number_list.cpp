#include "elastic/planning/number_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "runtime/base/error.h"
#include "runtime/base/text.h"

namespace scavenger::elastic {
namespace {

constexpr double kLongestRange = 10000.0;

[[noreturn]] void refuse_numbers(std::string what, const char* option) {
  throw InputError({.what = std::move(what), .where = option, .remedy = "give 1-8, or 64,128,256"});
}

double parse_positive(const std::string& text, const char* option) {
  const auto value = positive_number(text);
  // Of machines or samples; beyond it, adding 1 changes nothing.
  constexpr double kMost = 1e9;
  if (!value || *value != std::floor(*value) || *value > kMost)
    refuse_numbers(fmt::format("\"{}\" is no whole number from 1 to a billion", text), option);
  return *value;
}

}  // namespace

std::vector<double> parse_numbers(const std::string& text, const char* option) {
  std::vector<double> numbers;
  std::size_t begin = 0;
  while (begin <= text.size()) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string part = text.substr(begin, end - begin);
    const auto dash = part.find('-');
    const double first = parse_positive(part.substr(0, dash), option);
    const double last =
        dash == std::string::npos ? first : parse_positive(part.substr(dash + 1), option);
    if (last < first || last - first > kLongestRange)
      refuse_numbers(fmt::format("\"{}\" is no range", part), option);
    for (double value = first; value <= last; value += 1.0) numbers.push_back(value);
    begin = end + 1;
  }
  return numbers;
}

}  // namespace scavenger::elastic
