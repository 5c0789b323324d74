#include "elastic/planning/store_text.h"

#include <fmt/format.h>

namespace scavenger::elastic {

std::string models_table(std::span<const perfmodel::ModelSummary> models) {
  std::string text = fmt::format("{:<16}  {:<20} {:>11}  {:<40} {:>4} {:>7} {:>4}  {}\n", "id",
                                 "name", "parameters", "data", "jobs", "(K, B)", "runs", "updated");
  for (const perfmodel::ModelSummary& model : models)
    text += fmt::format("{:<16}  {:<20} {:>11}  {:<40} {:>4} {:>7} {:>4}  {}\n", model.id,
                        model.name, model.parameters, model.data_set, model.jobs,
                        model.configurations, model.runs, model.updated_utc);
  return text;
}

std::string model_text(const perfmodel::ModelRecord& record) {
  std::string text;
  const perfmodel::ModelSignature& signature = record.signature;
  text +=
      fmt::format("{} ({})\n{} parameters, architecture {}\ndata {}, {} samples\noptimizer {}\n",
                  record.name, signature.id(), signature.parameters, signature.architecture,
                  signature.data_set, signature.samples_per_epoch, signature.optimizer);
  text += fmt::format("\n{:>4} {:>6} {:>12} {:>12} {:>10}  {}\n", "K", "B", "s/iteration", "+-",
                      "iterations", "machine");
  for (const perfmodel::TimeRow& row : record.times)
    text += fmt::format("{:>4} {:>6} {:>12.5g} {:>12.3g} {:>10}  {}\n", row.workers, row.batch_size,
                        row.seconds, row.standard_error, row.iterations, row.machine);
  text += fmt::format("\n{:>4} {:>6} {:>6} {:>12} {:>24} {:>10}\n", "K", "B", "phase",
                      "noise scale", "interval", "iterations");
  for (const perfmodel::NoiseRow& row : record.noise)
    text += fmt::format(
        "{:>4} {:>6} {:>6} {:>12.4g} {:>24} {:>10}\n", row.workers, row.batch_size, row.phase,
        row.noise_scale,
        fmt::format(
            "{:.4g} to {}", row.noise_scale_low,
            row.noise_scale_high > 0.0 ? fmt::format("{:.4g}", row.noise_scale_high) : "infinity"),
        row.iterations);
  text += fmt::format("\n{:>4} {:>6} {:>10} {:>12}  {}\n", "K", "B", "epochs", "seconds", "target");
  for (const perfmodel::EpochRow& row : record.epochs)
    text += fmt::format("{:>4} {:>6} {:>10.4g} {:>12.5g}  {}\n", row.workers, row.batch_size,
                        row.epochs, row.seconds, row.target);
  return text;
}

}  // namespace scavenger::elastic
