// Tables that follow another law than our forms: AdaptDL's own, with parameters drawn at random,
// and with scatter per K and per measurement. Guards against a model that fits only the tables at
// hand.
#include <catch2/catch.hpp>
#include <cmath>

#include "perfmodel/time/adaptdl_model.h"
#include "perfmodel/time/time_model.h"
#include "runtime/base/random.h"
#include "test/unit/perfmodel/time/measured_tables.h"

namespace scavenger::perfmodel {
namespace {

double between(RandomStream& stream, double low, double high) {
  return low * std::pow(high / low, stream.uniform());
}

// One worker per node, K in {1..16}, six batch sizes.
std::vector<AdaptDlObservation> draw_table(const AdaptDlParameters& law, double smallest_batch,
                                           RandomStream& stream) {
  std::vector<AdaptDlObservation> table;
  for (const double k : {1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0}) {
    const double cluster = k == 1.0 ? 1.0 : std::exp(0.06 * stream.normal());
    for (double b = smallest_batch; b < 33 * smallest_batch; b *= 2) {
      const double seconds =
          predict_adaptdl(law, k, k, b) * cluster * std::exp(0.03 * stream.normal());
      const double compute =
          (law.compute_base + law.compute_per_sample * b) * std::exp(0.01 * stream.normal());
      table.push_back({k, k, b, seconds, std::min(compute, seconds)});
    }
  }
  return table;
}

}  // namespace

TEST_CASE(
    "On tables drawn from AdaptDL's own law, six corners predict nearly as well as its own fit") {
  double ours = 0.0, adaptdls = 0.0;
  const int tables = 60;
  for (std::uint64_t seed = 0; seed < tables; ++seed) {
    RandomStream stream(seed, "other tables");
    AdaptDlParameters law;
    law.compute_base = between(stream, 0.005, 0.5);
    law.compute_per_sample = law.compute_base * between(stream, 0.01, 0.3);
    law.network_base = law.compute_base * between(stream, 0.2, 10);
    law.network_slope = law.network_base * between(stream, 0.003, 0.1);
    law.overlap = between(stream, 1.0, 5.0);
    const auto table = draw_table(law, 8, stream);
    std::vector<AdaptDlObservation> corners;
    std::vector<TimeObservation> observations;
    for (const AdaptDlObservation& o : table)
      if ((o.workers <= 2 || o.workers == 16) && (o.local_batch == 8 || o.local_batch == 256)) {
        corners.push_back(o);
        observations.push_back(to_time_observation(o));
      }
    REQUIRE(corners.size() == 6);
    const TimeModel model(observations);
    const AdaptDlParameters fitted = fit_adaptdl(corners);
    double our_sum = 0.0, adaptdl_sum = 0.0;
    for (const AdaptDlObservation& o : table) {
      const double predicted = model.predict(to_time_observation(o).configuration).seconds.value;
      our_sum += std::abs(predicted / o.seconds - 1);
      adaptdl_sum +=
          std::abs(predict_adaptdl(fitted, o.nodes, o.workers, o.local_batch) / o.seconds - 1);
    }
    ours += our_sum / static_cast<double>(table.size()) / tables;
    adaptdls += adaptdl_sum / static_cast<double>(table.size()) / tables;
  }

  WARN("mean over " << tables << " tables: ours " << 100 * ours << " %, AdaptDL's form "
                    << 100 * adaptdls << " %");
  CHECK(ours < 1.15 * adaptdls);
}

}  // namespace scavenger::perfmodel
