// Numbers and curves as the page's charts take them: no more digits than a chart shows.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>

#include "elastic/history/downsampled_curve.h"

namespace scavenger::elastic {

// Six digits; null if `value` is not finite.
nlohmann::ordered_json chart_number(double value);
// Milliseconds: a place in a job of days must be exact to less than a pixel of an hour.
nlohmann::ordered_json chart_seconds(double value);
nlohmann::ordered_json optional_chart_seconds(const std::optional<double>& value);

// The abscissas of a curve's points: columns of iterations, epochs and seconds.
nlohmann::ordered_json curve_places(const DownsampledCurve& curve);
// One number of each point; null if the point has no values.
nlohmann::ordered_json curve_column(const DownsampledCurve& curve, double CurvePoint::*value);
// Places and means, with the band of minima and maxima if points are merged.
nlohmann::ordered_json curve_json(const DownsampledCurve& curve);

}  // namespace scavenger::elastic
