#include "campaign/run/surrogate_training.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>
#include <utility>

#include "campaign/run/simulation_command.h"
#include "campaign/surrogate/informative.h"
#include "campaign/surrogate/member_job.h"
#include "campaign/surrogate/selection.h"
#include "campaign/task/command_guard.h"
#include "runtime/base/check.h"
#include "runtime/base/error.h"
#include "runtime/base/log.h"

namespace scavenger::campaign {
namespace {

constexpr std::size_t kTrainingLogBytes = 500;

// The current surrogate may be from as many results, if the process was killed before it told so.
std::string free_folder(const std::filesystem::path& place, std::uint64_t results) {
  std::string name = fmt::format("training-{}", results);
  for (int number = 2; std::filesystem::exists(place / name); ++number)
    name = fmt::format("training-{}-{}", results, number);
  return name;
}

double or_zero(double number) {
  return std::isfinite(number) ? number : 0.0;
}

}  // namespace

// What one training is about. The thread has it while it computes, and the loop else.
struct SurrogateTraining::Round {
  std::uint64_t results = 0;  // that the campaign has, used or not
  std::vector<PointIndex> points, holdout, running, untried;
  std::vector<std::uint32_t> multiples;  // of `points`
  std::set<PointIndex> may_be_lengthened;
  std::size_t wanted = 0;  // points to advise
  std::string folder;
  PointSamples trained, held;
  std::vector<double> lengths;  // of surrogate::CorrelationOfPoints
  double noise = 0.0;
  std::size_t member = 0;
  double begin_seconds = 0.0;
  event::Advised advised;
  std::string failure;
};

SurrogateTraining::SurrogateTraining(asio::io_context& io, EventLoop& loop, CampaignFolder folder,
                                     CampaignConfig config, std::filesystem::path program_folder,
                                     std::function<void(const Told&)> told)
    : io_(io),
      loop_(loop),
      folder_(std::move(folder)),
      config_(std::move(config)),
      space_(config_.space),
      program_folder_(std::move(program_folder)),
      told_(std::move(told)),
      thread_(loop.start_thread()) {}

SurrogateTraining::~SurrogateTraining() = default;

void SurrogateTraining::begin(const Campaign& campaign) {
  SCAVENGER_CHECK(!is_running());
  round_ = std::make_shared<Round>();
  Round& round = *round_;
  round.results = campaign.results_to_train_on();
  round.begin_seconds = loop_.clock().now_seconds();
  for (const auto& [point, simulation] : campaign.simulations()) {
    if (simulation.has_result() && simulation.is_holdout) round.holdout.push_back(point);
    if (simulation.is_holdout) continue;
    if (!simulation.has_result() && !simulation.is_over()) round.running.push_back(point);
    if (!simulation.has_result()) continue;
    round.points.push_back(point);
    round.multiples.push_back(simulation.kept_multiple);
    const std::uint64_t most = std::uint64_t{1} << config_.surrogate->most_doublings;
    if (simulation.state == SimulationState::kDone && simulation.may_be_lengthened &&
        can_be_lengthened(config_.simulation) && 2 * simulation.multiple <= most)
      round.may_be_lengthened.insert(point);
  }
  if (config_.selection.rule == SelectionRule::kUncertainty) {
    for (PointIndex point = 0; point < space_.size(); ++point)
      if (!campaign.simulations().contains(point)) round.untried.push_back(point);
    // Enough until the next surrogate is trained, and while it is.
    round.wanted = 2 * config_.surrogate->retrain_results + round.running.size();
  }
  read_results();
}

void SurrogateTraining::stop() {
  round_.reset();
  child_.reset();
}

// ---- The steps of a training. ----

void SurrogateTraining::read_results() {
  const auto work = [this, round = round_] {
    try {
      remove_other_trainings(folder_);
      round->folder = free_folder(folder_.surrogate(), round->results);
      round->trained = read_samples(folder_, config_, round->points, round->multiples, 0);
      round->held = read_samples(folder_, config_, round->holdout, {}, round->trained.rows);
      constexpr std::size_t kFewestSamples = 2;
      if (round->trained.samples.size() < kFewestSamples) {
        round->failure = "fewer than 2 results have a profile";
        if (!round->trained.faults.empty()) round->failure += "; " + round->trained.faults.front();
        return;
      }
      const surrogate::FitSettings settings = fit_settings_of(config_);
      const surrogate::Encoding encoding =
          surrogate::encode(unit_space_of(config_), round->trained.samples, settings);
      if (encoding.lengths) {
        round->lengths = encoding.lengths->lengths();
        round->noise = encoding.lengths->noise();
      }
      for (std::size_t index = 0; index < settings.members; ++index)
        surrogate::write_member_job(
            folder_.surrogate() / round->folder / fmt::format("member-{}", index), encoding.set,
            settings, index);
    } catch (const std::exception& error) {
      round->failure = error.what();
    }
  };
  thread_->run(work, [this, round = round_] {
    if (round != round_) return;
    if (!round->failure.empty()) return fail(round->failure);
    for (const PointSamples* samples : {&round->trained, &round->held})
      for (const std::string& fault : samples->faults)
        log_warning("the surrogate does not learn from {}", fault);
    train_next();
  });
}

std::filesystem::path SurrogateTraining::member_folder(std::size_t index) const {
  return folder_.surrogate() / round_->folder / fmt::format("member-{}", index);
}

void SurrogateTraining::train_next() {
  if (round_->member == config_.surrogate->members) return advise();
  run_program({"scavenger-train", "job.json", "--run", "run"}, [this] {
    run_program({"scavenger-export", "run", "weights.safetensors", "--checkpoint", "last"}, [this] {
      ++round_->member;
      train_next();
    });
  });
}

// In the folder of the member that is being trained.
void SurrogateTraining::run_program(const std::vector<std::string>& words,
                                    std::function<void()> then) {
  const std::filesystem::path place = member_folder(round_->member);
  ChildProcess::Command command = guarded_command(program_folder_ / "scavenger-task", place, words);
  command.log = place / "log.txt";
  const auto ended = [this, round = round_, log = command.log, program = words.front(),
                      then = std::move(then)](const ExitStatus& status) {
    // Not from inside of the process that has ended, which the next one replaces.
    loop_.post([this, round, log, program, status, then] {
      if (round != round_) return;
      if (status.code == 0 && status.signal == 0) return then();
      fail(fmt::format("{} ended with {}: {}", program, status.text(),
                       log_tail(log, kTrainingLogBytes)));
    });
  };
  try {
    child_.reset();
    child_ = std::make_unique<ChildProcess>(io_, command, ended);
  } catch (const SystemError& error) {
    fail(error.what());
  }
}

namespace {

// What a campaign is to reach decides what a new simulation should teach. Error bars are small
// where profiles are, so points count there that hardly change the error over all values.
bool is_about_error_bars(const SurrogateConfig& wanted) {
  return wanted.target_within_errors > 0.0 && wanted.target_rmse == 0.0;
}

std::vector<PointIndex> choose(const surrogate::Surrogate& surrogate, const CampaignConfig& config,
                               const Space& space, const std::vector<PointIndex>& untried,
                               const std::vector<PointIndex>& running,
                               const std::vector<PointIndex>& simulated, std::size_t count) {
  const surrogate::UnitSpace unit = unit_space_of(config);
  const bool about_error_bars = is_about_error_bars(*config.surrogate);
  const auto unknown_at = [&](PointIndex point) {
    const std::vector<double> values = space.values_at(point);
    return about_error_bars ? surrogate.share_outside(values) : surrogate.variance(values);
  };
  const auto unit_at = [&](PointIndex point) { return unit.to_unit(space.values_at(point)); };
  surrogate::Unsimulated points;
  std::ranges::transform(untried, std::back_inserter(points.candidates), unit_at);
  std::ranges::transform(untried, std::back_inserter(points.scores), unknown_at);
  std::ranges::transform(running, std::back_inserter(points.busy), unit_at);
  std::ranges::transform(simulated, std::back_inserter(points.simulated), unit_at);
  for (const std::uint32_t point : surrogate::sampled_places(space.size(), config.seed)) {
    points.places.push_back(unit_at(point));
    points.unknown.push_back(unknown_at(point));
  }
  std::vector<PointIndex> chosen;
  for (const std::size_t index : surrogate::next_points(surrogate.lengths(), points, count))
    chosen.push_back(untried[index]);
  return chosen;
}

std::vector<PointIndex> choose_longer(const surrogate::Surrogate& surrogate,
                                      const PointSamples& trained,
                                      const std::set<PointIndex>& may_be_lengthened,
                                      double new_variance, std::size_t count) {
  std::vector<PointIndex> points;
  std::vector<double> statistical, variances;
  for (std::size_t i = 0; i < trained.points.size(); ++i) {
    if (!may_be_lengthened.contains(trained.points[i])) continue;
    points.push_back(trained.points[i]);
    statistical.push_back(surrogate::statistical_variance(trained.samples[i]));
    variances.push_back(surrogate.variance(trained.samples[i].parameters));
  }
  std::vector<PointIndex> longer;
  for (const std::size_t index : surrogate::worth_lengthening(statistical, variances, new_variance))
    if (longer.size() < count) longer.push_back(points[index]);
  return longer;
}

}  // namespace

void SurrogateTraining::advise() {
  const auto work = [this, round = round_] {
    try {
      const LoadedSurrogate loaded = load_surrogate(folder_, config_,
                                                    {.folder = round->folder,
                                                     .points = round->trained.points,
                                                     .multiples = round->trained.multiples,
                                                     .holdout = round->held.points,
                                                     .lengths = round->lengths,
                                                     .noise = round->noise});
      keep_current(folder_, loaded.current);
      const double before_seconds = loop_.clock().now_seconds();
      const surrogate::HoldoutError error = loaded.surrogate.error_on(round->held.samples);
      const double predict_seconds = loop_.clock().now_seconds() - before_seconds;
      event::Advised& advised = round->advised;
      advised.results = round->results;
      advised.left_out = round->trained.faults.size();
      advised.profiles = error.profiles;
      advised.rmse = or_zero(error.rmse);
      advised.most_rmse = or_zero(error.most_rmse);
      advised.within = or_zero(error.within);
      advised.least_within = or_zero(error.least_within);
      advised.covered = or_zero(error.covered);
      if (error.profiles > 0)
        advised.predict_seconds = predict_seconds / static_cast<double>(error.profiles);
      advised.points = choose(loaded.surrogate, config_, space_, round->untried, round->running,
                              round->trained.points, round->wanted);
      if (!advised.points.empty())
        advised.lengthen = choose_longer(
            loaded.surrogate, round->trained, round->may_be_lengthened,
            loaded.surrogate.variance(space_.values_at(advised.points.front())), round->wanted);
    } catch (const std::exception& error) {
      round->failure = error.what();
    }
  };
  thread_->run(work, [this, round = round_] {
    if (round != round_) return;
    if (!round->failure.empty()) return fail(round->failure);
    round->advised.seconds = loop_.clock().now_seconds() - round->begin_seconds;
    tell(round->advised);
  });
}

void SurrogateTraining::fail(const std::string& reason) {
  log_warning("the surrogate could not be trained, the campaign goes on without: {}", reason);
  tell(event::TrainingFailed{round_->results, reason,
                             loop_.clock().now_seconds() - round_->begin_seconds});
}

void SurrogateTraining::tell(const Told& told) {
  stop();
  told_(told);
}

}  // namespace scavenger::campaign
