#include "elastic/page/chart_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <utility>

namespace scavenger::elastic {
namespace {

using json = nlohmann::ordered_json;

// Six digits are more than a chart shows, and a third of the size of all. A page has tens of
// thousands of numbers each second, so this does without text: powers of ten up to 10^22 are exact,
// so the quotient is the very number that the six digits stand for.
double six_digits(double value) {
  constexpr int kMostExact = 22;
  static const auto kPowers = [] {
    std::array<double, kMostExact + 1> powers{1.0};
    for (std::size_t i = 1; i < powers.size(); ++i) powers[i] = powers[i - 1] * 10.0;
    return powers;
  }();
  if (value == 0.0) return value;
  const int shift = 5 - static_cast<int>(std::floor(std::log10(std::abs(value))));
  if (std::abs(shift) > kMostExact)
    return std::strtod(fmt::format("{:.6g}", value).c_str(), nullptr);
  const double power = kPowers[static_cast<std::size_t>(std::abs(shift))];
  return shift >= 0 ? std::round(value * power) / power : std::round(value / power) * power;
}

}  // namespace

json chart_number(double value) {
  return std::isfinite(value) ? json(six_digits(value)) : json(nullptr);
}

json chart_seconds(double value) {
  return std::round(value * 1e3) / 1e3;
}

json optional_chart_seconds(const std::optional<double>& value) {
  return value ? chart_seconds(*value) : json(nullptr);
}

json curve_places(const DownsampledCurve& curve) {
  json first = json::array(), iteration = json::array(), epoch = json::array(),
       time = json::array();
  for (const CurvePoint& point : curve.points()) {
    first.push_back(point.first_iteration);
    iteration.push_back(point.last_iteration);
    epoch.push_back(chart_number(point.epoch));
    time.push_back(chart_seconds(point.time));
  }
  return {{"first", std::move(first)},
          {"iteration", std::move(iteration)},
          {"epoch", std::move(epoch)},
          {"time", std::move(time)}};
}

json curve_column(const DownsampledCurve& curve, double CurvePoint::*value) {
  json list = json::array();
  for (const CurvePoint& point : curve.points())
    list.push_back(point.count > 0 ? chart_number(point.*value) : json(nullptr));
  return list;
}

json curve_json(const DownsampledCurve& curve) {
  json object = curve_places(curve);
  object["mean"] = curve_column(curve, &CurvePoint::mean);
  // Where each point is one value these would only say it again.
  const bool is_merged =
      std::any_of(curve.points().begin(), curve.points().end(),
                  [](const CurvePoint& point) { return point.minimum < point.maximum; });
  if (is_merged) {
    object["low"] = curve_column(curve, &CurvePoint::minimum);
    object["high"] = curve_column(curve, &CurvePoint::maximum);
  }
  return object;
}

}  // namespace scavenger::elastic
