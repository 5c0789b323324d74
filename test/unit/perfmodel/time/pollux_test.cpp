// Held-out accuracy on measurements of real GPU clusters that nobody here made (AWS T4 nodes, one
// worker per node; the artifact of Pollux, OSDI 2021). docs/results/predictions.md has the table.
#include <catch2/catch.hpp>
#include <cmath>
#include <set>

#include "perfmodel/search/adaptive_search.h"
#include "perfmodel/time/adaptdl_model.h"
#include "perfmodel/time/time_model.h"
#include "test/unit/perfmodel/time/measured_tables.h"

namespace scavenger::perfmodel {
namespace {

using Chosen = std::set<std::size_t>;

// Smallest and largest batch at each of the given K.
Chosen corners(const std::vector<AdaptDlObservation>& table, const std::set<double>& workers) {
  Chosen chosen;
  for (const double k : workers) {
    std::vector<std::size_t> rows;  // in order of batch
    for (std::size_t i = 0; i < table.size(); ++i)
      if (table[i].workers == k) rows.push_back(i);
    chosen.insert(rows.front());
    chosen.insert(rows.back());
  }
  return chosen;
}

TimeModel model_of(const std::vector<AdaptDlObservation>& table, const Chosen& chosen) {
  std::vector<TimeObservation> observations;
  for (const std::size_t i : chosen) observations.push_back(to_time_observation(table[i]));
  return TimeModel(observations);
}

template <typename Predict>
double held_out_error(const std::vector<AdaptDlObservation>& table, const Chosen& chosen,
                      const Predict& predict) {
  double sum = 0.0;
  for (std::size_t i = 0; i < table.size(); ++i)
    if (!chosen.contains(i)) sum += std::abs(predict(table[i]) / table[i].seconds - 1.0);
  return sum / static_cast<double>(table.size() - chosen.size());
}

double model_error(const std::vector<AdaptDlObservation>& table, const Chosen& chosen) {
  const TimeModel model = model_of(table, chosen);
  return held_out_error(table, chosen, [&](const AdaptDlObservation& o) {
    return model.predict(to_time_observation(o).configuration).seconds.value;
  });
}

double adaptdl_error(const std::vector<AdaptDlObservation>& table, const Chosen& chosen) {
  std::vector<AdaptDlObservation> observations;
  for (const std::size_t i : chosen) observations.push_back(table[i]);
  const AdaptDlParameters fitted = fit_adaptdl(observations);
  return held_out_error(table, chosen, [&](const AdaptDlObservation& o) {
    return predict_adaptdl(fitted, o.nodes, o.workers, o.local_batch);
  });
}

// The four corners, and then one by one what the model asks for.
Chosen choose_adaptively(const std::vector<AdaptDlObservation>& table, std::size_t count) {
  Chosen chosen;
  std::vector<Configuration> candidates;
  for (const AdaptDlObservation& o : table)
    candidates.push_back(to_time_observation(o).configuration);
  for (const std::size_t i : corner_candidates(candidates)) chosen.insert(i);
  while (chosen.size() < count) {
    std::vector<bool> measured(table.size());
    for (const std::size_t i : chosen) measured[i] = true;
    chosen.insert(next_candidate(model_of(table, chosen), candidates, measured).value());
  }
  return chosen;
}

// Share of held-out rows that lie in their 95 % interval.
double coverage(const std::vector<AdaptDlObservation>& table, const Chosen& chosen) {
  const TimeModel model = model_of(table, chosen);
  double inside = 0.0;
  for (std::size_t i = 0; i < table.size(); ++i) {
    if (chosen.contains(i)) continue;
    const Estimate seconds = model.predict(to_time_observation(table[i]).configuration).seconds;
    inside += seconds.low <= table[i].seconds && table[i].seconds <= seconds.high ? 1.0 : 0.0;
  }
  return inside / static_cast<double>(table.size() - chosen.size());
}

struct Bars {
  const char* model;
  double adaptdl;  // AdaptDL's own fit on the same six rows
};
const Bars kBars[] = {{"cifar10", 0.123}, {"bert", 0.054}};

}  // namespace

TEST_CASE("From six corners, other configurations' times are predicted as well as AdaptDL does") {
  const auto folder = shared_data_or_skip("pollux");
  if (folder.empty()) return;
  for (const Bars& bars : kBars) {
    const auto table = read_pollux_times(folder / bars.model);
    const Chosen six = corners(table, {1, 2, 16});
    REQUIRE(six.size() == 6);

    const double ours = model_error(table, six);
    const double adaptdls = adaptdl_error(table, six);

    WARN(bars.model << ": ours " << 100 * ours << " %, AdaptDL's form " << 100 * adaptdls
                    << " %, interval coverage " << 100 * coverage(table, six) << " %, form "
                    << describe(model_of(table, six).best().form()));
    CHECK(ours <= bars.adaptdl);
    CHECK(ours <= adaptdls);
    CHECK(adaptdls <= bars.adaptdl + 0.001);  // our copy fits no worse than the original
  }
}

TEST_CASE("Nine points chosen adaptively leave at most 0.7 of the error that AdaptDL's form has") {
  const auto folder = shared_data_or_skip("pollux");
  if (folder.empty()) return;
  for (const Bars& bars : kBars) {
    const auto table = read_pollux_times(folder / bars.model);
    const Chosen nine = choose_adaptively(table, 9);

    const double ours = model_error(table, nine);

    std::string points;
    for (const std::size_t i : nine)
      points += " " + std::to_string(static_cast<int>(table[i].workers)) + "x" +
                std::to_string(static_cast<int>(table[i].local_batch));
    WARN(bars.model << ": " << 100 * ours << " %, AdaptDL's form on the same nine "
                    << 100 * adaptdl_error(table, nine) << " %, coverage "
                    << 100 * coverage(table, nine) << " %, form "
                    << describe(model_of(table, nine).best().form()) << ", points" << points);
    CHECK(ours <= 0.7 * bars.adaptdl);
  }
}

}  // namespace scavenger::perfmodel
