#include "apps/command_line/duration.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <map>

#include "runtime/base/error.h"

namespace scavenger {

double parse_duration(const std::string& text, const std::string& where) {
  const std::map<char, double> units = {{'s', 1.0}, {'m', 60.0}, {'h', 3600.0}, {'d', 86400.0}};
  const auto unit = text.empty() ? units.end() : units.find(text.back());
  double value = 0.0;
  const char* const end = text.data() + text.size() - (unit == units.end() ? 0 : 1);
  const auto [parsed, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || parsed != end || !std::isfinite(value) || !(value > 0.0))
    throw InputError({.what = fmt::format("\"{}\" is no duration", text),
                      .where = where,
                      .remedy = "give 90s, 45m or 3h"});
  return value * (unit == units.end() ? 1.0 : unit->second);
}

}  // namespace scavenger
