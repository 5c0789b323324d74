#include "elastic/history/series_digest.h"

namespace scavenger::elastic {

fact::SeriesDigest digest_of(const RunningMoments& moments, double minimum, double maximum) {
  if (moments.count() == 0) return {};
  return {.count = moments.count(),
          .moments = {moments.mean(), moments.standard_deviation(), minimum, maximum},
          .quantiles = {}};
}

fact::SeriesDigest digest_of(const SeriesStatistics& series, int width) {
  fact::SeriesDigest digest = digest_of(series.moments(), series.minimum(), series.maximum());
  digest.quantiles = series.sketch().encode(width);
  return digest;
}

SeriesStatistics statistics_of(const fact::SeriesDigest& digest) {
  if (digest.count == 0) return {};
  return SeriesStatistics::of(moments_of(digest), QuantileSketch::decode(digest.quantiles),
                              digest.moments[2], digest.moments[3]);
}

RunningMoments moments_of(const fact::SeriesDigest& digest) {
  if (digest.count == 0) return {};
  return RunningMoments::of(digest.count, digest.moments[0], digest.moments[1]);
}

}  // namespace scavenger::elastic
