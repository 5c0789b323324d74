#include "campaign/run/surrogate_question.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <sstream>
#include <string_view>

#include "campaign/space/space.h"
#include "runtime/base/check.h"
#include "runtime/base/error.h"
#include "runtime/base/text.h"

namespace scavenger::campaign {
namespace {

constexpr double kRounding = 1e-9;  // of a parameter's extent

[[noreturn]] void refuse_point(const std::string& what, const std::string& remedy) {
  throw InputError({.what = what, .where = "--at", .remedy = remedy});
}

std::string trimmed(const std::string& text) {
  const std::size_t first = text.find_first_not_of(' ');
  return first == std::string::npos ? std::string()
                                    : text.substr(first, text.find_last_not_of(' ') - first + 1);
}

double number_of(const std::string& name, const std::string& text) {
  double number = 0.0;
  const char* const begin = text.data() + (text.starts_with('+') ? 1 : 0);
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(begin, end, number);
  if (error != std::errc() || rest != end)
    refuse_point(fmt::format("\"{}\" of {} is no number", text, name),
                 "write it as " + name + "=1.5");
  return number;
}

// The value, moved onto the end of the parameter's extent if only rounding puts it outside.
double inside(const std::string& name, const ParameterConfig& parameter, double value) {
  const auto [low, high] = std::ranges::minmax(values_of(parameter));
  const double slack = kRounding * std::max(high - low, std::max(std::abs(low), std::abs(high)));
  if (!(value >= low - slack && value <= high + slack))
    refuse_point(fmt::format("{}={} is outside of the space, where it is {} to {}", name,
                             number_text(value), number_text(low), number_text(high)),
                 "use a point inside: a surrogate does not know what is beyond its simulations");
  return std::clamp(value, low, high);
}

}  // namespace

std::vector<double> parse_point(const CampaignConfig& config, const std::string& text) {
  std::vector<std::string> names;
  for (const auto& [name, parameter] : config.space) names.push_back(name);
  std::map<std::string, double> given;
  std::istringstream parts(text);
  for (std::string part; std::getline(parts, part, ',');) {
    const std::size_t equals = part.find('=');
    if (equals == std::string::npos)
      refuse_point(fmt::format("\"{}\" is no NAME=VALUE", trimmed(part)),
                   "name " + join_words(names));
    const std::string name = trimmed(part.substr(0, equals));
    if (std::ranges::find(names, name) == names.end())
      refuse_point(fmt::format("the campaign has no parameter \"{}\"", name),
                   "name " + join_words(names));
    if (!given.emplace(name, number_of(name, trimmed(part.substr(equals + 1)))).second)
      refuse_point(fmt::format("{} is there twice", name), "leave one of them out");
  }
  std::vector<double> point;
  for (const auto& [name, parameter] : config.space) {
    const auto found = given.find(name);
    if (found == given.end())
      refuse_point(fmt::format("{} is missing", name), "give a value to " + join_words(names));
    point.push_back(inside(name, parameter, found->second));
  }
  return point;
}

void write_predictions(const CampaignConfig& config, const std::vector<PointPrediction>& all,
                       std::ostream& out) {
  const ProfileColumns& columns = config.simulation.result.profile.value();
  const bool has_several = all.size() > 1;
  if (has_several)
    for (const auto& [name, parameter] : config.space) out << name << ',';
  out << columns.x;
  for (const std::string& name : columns.y) out << ',' << name << ',' << name << "_sigma";
  out << '\n';
  for (const auto& [point, x, prediction] : all) {
    SCAVENGER_CHECK(prediction.profile.size() == x.size() * columns.y.size());
    std::string before;
    if (has_several)
      for (const double value : point) before += fmt::format("{:.9g},", value);
    for (std::size_t i = 0; i < x.size(); ++i) {
      out << before << fmt::format("{:.9g}", x[i]);
      for (std::size_t column = 0; column < columns.y.size(); ++column) {
        const std::size_t place = column * x.size() + i;
        out << fmt::format(",{:.6g},{:.3g}", prediction.profile[place], prediction.sigma[place]);
      }
      out << '\n';
    }
  }
}

}  // namespace scavenger::campaign
