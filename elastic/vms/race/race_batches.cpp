#include "elastic/vms/race/race_batches.h"

#include <algorithm>
#include <cmath>

#include "elastic/history/search_stays.h"
#include "elastic/search/stored_models.h"
#include "perfmodel/search/epochs_ratio.h"

namespace scavenger::elastic {

std::vector<VmQuestion::RunningBatch> other_batches(const RaceView& view) {
  std::vector<VmQuestion::RunningBatch> others;
  const auto noise = view.numbers().noise.scale();
  if (view.setting().batch_sizes.empty() || !noise) return others;
  std::vector<double> earlier;
  if (const perfmodel::ModelRecord* const stored = stored_model(view.setting(), view.numbers()))
    earlier = stored_noise_scales({stored, 1}, stored->signature);
  const perfmodel::KnownNoise known{.so_far = noise,
                                    .growth = view.numbers().noise.growth(),
                                    .of_earlier_jobs = perfmodel::noise_of_earlier_jobs(earlier),
                                    .usual = noise->scale};
  const perfmodel::MeasuredProgress progress(training_losses(view.numbers()), noise->scale);
  const double beside = view.membership().batch_size;
  const double left = view.likely_iterations_left();
  for (const std::uint32_t batch : view.setting().batch_sizes) {
    if (batch == view.membership().batch_size) continue;
    const perfmodel::BatchPair pair{static_cast<double>(batch), beside};
    const double ratio = perfmodel::expected_epochs_ratio(pair, known, progress);
    const double square = perfmodel::expected_epochs_ratio(pair, known, progress, 2.0);
    others.push_back({pair.global_batch, left * ratio * beside / pair.global_batch,
                      std::sqrt(std::log(std::max(1.0, square / (ratio * ratio))))});
  }
  return others;
}

}  // namespace scavenger::elastic
