// scavenger-predict: asks a job's trained model about samples, or evaluates it: docs/models.md.
// Asks a campaign's surrogate about a point of its space: docs/campaigns.md.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "apps/command_line/checkpoint_choice.h"
#include "apps/command_line/command_line.h"
#include "apps/command_line/user_program.h"
#include "campaign/run/campaign_folder.h"
#include "campaign/run/surrogate_folder.h"
#include "campaign/run/surrogate_question.h"
#include "elastic/coordinator/job/run_folder.h"
#include "elastic/evaluation/prediction_file.h"
#include "elastic/evaluation/restored_model.h"
#include "elastic/history/evaluation_metric.h"
#include "elastic/report/quantity_text.h"
#include "runtime/base/error.h"
#include "runtime/base/file.h"
#include "runtime/base/json_text.h"
#include "runtime/base/log.h"
#include "runtime/base/version.h"
#include "runtime/config/config_file.h"
#include "runtime/config/metric.h"
#include "runtime/data/batch_assembler.h"
#include "runtime/data/readers/source_readers.h"
#include "runtime/torch/imported/torchscript_export.h"
#include "runtime/torch/trainer/torch_trainer.h"

namespace scavenger {
namespace {

struct Arguments {
  std::string run;
  std::string input;
  std::string output = "-";
  std::string split = "test";
  std::string checkpoint = "best";
  std::uint32_t threads = 0;
  bool evaluate = false;
  bool json = false;
  std::string torchscript;
  std::vector<std::string> at;
};

void declare(CLI::App& app, Arguments& arguments) {
  app.set_version_flag("--version", version_line("scavenger-predict"));
  app.add_option("RUN", arguments.run, "The run folder of a job, or of a campaign")
      ->required()
      ->check(kNamed);
  auto* input = app.add_option("--input", arguments.input,
                               "Samples without targets: a file of the job's own format, or .npy, "
                               ".npz, .safetensors, .csv (else the samples of --split)");
  app.add_option("--output", arguments.output,
                 "What to write: .npy, or CSV to any other file; -: CSV to standard output")
      ->capture_default_str();
  auto* evaluate = app.add_flag("--evaluate", arguments.evaluate,
                                "Print the job's metrics on --split in place of predictions");
  evaluate->excludes(input);
  app.add_option("--split", arguments.split, "Of the job's data: test or train")
      ->capture_default_str()
      ->check(CLI::IsMember({"test", "train"}));
  declare_checkpoint_choice(app, arguments.checkpoint);
  app.add_flag("--json", arguments.json, "Print metrics as JSON")->needs(evaluate);
  app.add_option("--torchscript", arguments.torchscript,
                 "Predict nothing: write the trained TorchScript module, for scavenger-export")
      ->excludes(input)
      ->excludes(evaluate);
  app.add_option("--at", arguments.at,
                 "Of a campaign: a point of its space, as Z=4.3,c=0.6, whose profile is predicted; "
                 "may be there several times")
      ->allow_extra_args(false)
      ->excludes(input)
      ->excludes(evaluate);
  app.add_option("--threads", arguments.threads,
                 "That compute (else as many as a worker of the job has here)")
      ->check(CLI::Range(1, 1024));
}

std::unique_ptr<Trainer> make_trainer(const JobConfig& config, const DataShape& shape,
                                      std::uint32_t threads) {
  TorchTrainerOptions options;
  options.model = config.model;
  options.loss = config.loss;
  options.compute = config.compute;
  options.data = shape;
  if (shape.target == TargetKind::kSequence) options.beam_width = config.evaluation.beam_width;
  options.seed = config.seed;
  options.threads = threads;
  options.place = choose_device(config.device, 0);
  return make_torch_trainer(options);
}

Split split_of(const Arguments& arguments) {
  return find_word<Split>(arguments.split).value();
}

void print_metrics(const Arguments& arguments, elastic::RestoredModel& model) {
  const elastic::fact::Evaluation found = model.evaluate(split_of(arguments));
  nlohmann::ordered_json json{{"name", model.config().name},
                              {"checkpoint", model.folder().string()},
                              {"iteration", found.iteration},
                              {"split", name_of(found.split)},
                              {"samples", found.samples}};
  std::string text =
      fmt::format("{}, iteration {}, {} samples", model.config().name,
                  elastic::format_count(found.iteration), elastic::format_count(found.samples));
  for (const Metric metric : metrics_of(model.config())) {
    const double value = elastic::metric_of(found, metric).value();
    json[std::string(name_of(metric))] = value;
    text += "  " + elastic::format_metric(found.split, metric, value);
  }
  std::cout << (arguments.json ? json_text(json) : text) << "\n";
}

DataSet open_samples(const Arguments& arguments, const elastic::RestoredModel& model) {
  const DataConfig& data = model.config().data;
  if (arguments.input.empty())
    return DataSet::open(data, split_of(arguments), default_cache_folder());
  std::uint64_t features = 1;
  for (const std::int64_t size : model.shape().sample_shape)
    features *= static_cast<std::uint64_t>(size);
  return DataSet::of_unlabelled(read_unlabelled(data, arguments.input, features), data,
                                model.shape(), arguments.input);
}

// `take(first sample, answers)` for each batch.
template <typename Take>
void ask(elastic::RestoredModel& model, const DataSet& samples, const Take& take) {
  const JobConfig& config = model.config();
  BatchAssembler assembler = BatchAssembler::for_evaluation(samples, config.data);
  Batch batch;
  for (std::uint32_t first = 0; first < samples.size();) {
    const std::uint32_t size = std::min(config.evaluation.batch_size, samples.size() - first);
    assembler.assemble(BatchPlace::whole(first, size), batch);
    std::vector<float> answers = model.trainer().answer(batch);
    elastic::make_probabilities(loss_type(config), model.shape(), answers);
    take(first, answers);
    first += size;
  }
}

void write_csv(elastic::RestoredModel& model, const DataSet& samples, std::ostream& out) {
  elastic::write_csv_header(model.shape(), out);
  ask(model, samples, [&](std::uint32_t first, const std::vector<float>& answers) {
    elastic::write_csv_rows(model.shape(), first, answers, out);
  });
  out.flush();
}

void predict(const Arguments& arguments, elastic::RestoredModel& model) {
  if (model.shape().vocabulary > 0)
    throw InputError({.what = "predictions are for classes and values, and this is a model of text",
                      .where = arguments.run,
                      .remedy = "use --evaluate, which gives its loss and perplexity"});
  const std::filesystem::path file = arguments.output;
  std::error_code error;
  if (!arguments.input.empty() && std::filesystem::equivalent(arguments.input, file, error))
    throw InputError({.what = "it is the file of the samples, which predictions would replace",
                      .where = "--output " + arguments.output,
                      .remedy = "name another file"});
  const DataSet samples = open_samples(arguments, model);
  if (arguments.output == "-") return write_csv(model, samples, std::cout);
  if (file.extension() == ".npy") {
    std::vector<float> all;
    ask(model, samples, [&](std::uint32_t, const std::vector<float>& answers) {
      all.insert(all.end(), answers.begin(), answers.end());
    });
    elastic::write_npy(model.shape(), all, file);
  } else {
    std::ostringstream out;
    write_csv(model, samples, out);
    write_output_file(file, out.str());
  }
  std::cout << fmt::format("wrote predictions for {} samples by iteration {} of {} to {}\n",
                           samples.size(), model.iteration(), model.config().name, file.string());
}

void write_torchscript(const Arguments& arguments) {
  const JobConfig config = read_resolved_config(elastic::open_run_folder(arguments.run).config());
  const Checkpoint checkpoint =
      read_chosen_checkpoint(arguments.run, arguments.checkpoint, "scavenger-predict").content;
  if (config.model.type != ModelType::kTorchScript)
    throw InputError({.what = "only a model that came as TorchScript can be written as such",
                      .where = arguments.torchscript,
                      .remedy = "use scavenger-export with a file that ends in .safetensors"});
  export_torchscript(config.model.path, checkpoint, arguments.torchscript);
  std::cout << "wrote iteration " << checkpoint.iteration << " of " << config.name << " to "
            << arguments.torchscript << "\n";
}

// Uses no LibTorch: the members of a surrogate are plain C++.
void ask_surrogate(const Arguments& arguments) {
  if (arguments.at.empty())
    throw InputError({.what = "this is a campaign, and no point of its space is named",
                      .where = arguments.run,
                      .remedy = "add --at NAME=VALUE,... for all of its parameters"});
  const campaign::CampaignFolder folder = campaign::open_campaign_folder(arguments.run);
  const campaign::CampaignConfig config = campaign::config_of(folder);
  std::vector<std::vector<double>> points;
  for (const std::string& at : arguments.at) points.push_back(campaign::parse_point(config, at));
  if (std::filesystem::path(arguments.output).extension() == ".npy")
    throw InputError({.what = "a profile with its error bars is written as CSV, and not as .npy",
                      .where = "--output " + arguments.output,
                      .remedy = "name a file that ends in .csv"});
  const campaign::LoadedSurrogate loaded = campaign::load_surrogate(folder, config);
  std::vector<campaign::PointPrediction> predictions;
  for (const std::vector<double>& point : points)
    predictions.push_back({point, loaded.places.at(point), loaded.surrogate.predict(point)});
  std::ostringstream text;
  campaign::write_predictions(config, predictions, text);
  if (arguments.output == "-")
    std::cout << text.str() << std::flush;
  else
    write_output_file(arguments.output, text.str());
}

void answer(const Arguments& arguments) {
  if (campaign::is_campaign(arguments.run)) return ask_surrogate(arguments);
  if (!arguments.at.empty())
    throw InputError({.what = "there is no campaign here, and only campaigns have points",
                      .where = arguments.run,
                      .remedy = "name the run folder of a campaign, or use --input"});
  if (!arguments.torchscript.empty()) return write_torchscript(arguments);
  elastic::RestoredModel model(
      read_chosen_checkpoint(arguments.run, arguments.checkpoint, "scavenger-predict"),
      arguments.threads, make_trainer);
  if (arguments.evaluate) return print_metrics(arguments, model);
  predict(arguments, model);
}

}  // namespace
}  // namespace scavenger

int main(int argc, char** argv) {
  using namespace scavenger;
  CLI::App app("Asks a trained model about samples, or evaluates it.", "scavenger-predict");
  Arguments arguments;
  declare(app, arguments);
  if (const auto exit_code = parse_command_line(app, argc, argv)) return *exit_code;
  start_log("predict", LogLevel::kWarning);
  return run_user_program("scavenger-predict", [&] {
    answer(arguments);
    return 0;
  });
}
