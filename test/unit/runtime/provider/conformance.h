// What every provider must do, whatever its machines are: docs/providers.md, "The contract".
#pragma once

#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/error.h"
#include "runtime/process/command.h"
#include "runtime/provider/provider.h"

namespace scavenger {

// Writes down what a provider says: one list of words for each id.
class ProviderDiary final : public ProviderListener {
 public:
  void on_ready(MachineId id, const Machine& machine) override {
    says(id, "ready");
    machines[id] = machine;
  }
  void on_delayed(MachineId id, const Refusal&) override { says(id, "delayed"); }
  void on_refused(MachineId id, const Refusal& refusal) override {
    says(id, "refused");
    refusals[id] = refusal;
  }
  void on_notice(MachineId id, const MachineNotice&) override { says(id, "notice"); }
  void on_lost(MachineId id, const MachineLoss& loss) override {
    says(id, "lost");
    losses[id] = loss;
  }
  void on_released(MachineId id) override { says(id, "released"); }

  bool calling = false;  // the test is within a call of the provider
  std::map<MachineId, std::vector<std::string>> words;
  std::map<MachineId, Machine> machines;
  std::map<MachineId, Refusal> refusals;
  std::map<MachineId, MachineLoss> losses;

 private:
  void says(MachineId id, const std::string& word) {
    CHECK_FALSE(calling);
    words[id].push_back(word);
  }
};

// One provider, used as a job uses it.
class ProviderTrial final {
 public:
  using Make = std::function<std::unique_ptr<Provider>(asio::io_context&)>;

  explicit ProviderTrial(const Make& make) : provider_(make(io_)) {
    bool has_begun = false;
    std::optional<Refusal> problem;
    provider_->begin(diary_, [&](std::optional<Refusal> found) {
      has_begun = true;
      problem = std::move(found);
    });
    run_until([&] { return has_begun; });
    if (problem) FAIL(Error(problem->problem).what());
  }
  ~ProviderTrial() { end(); }

  void run_until(const std::function<bool()>& is_reached, double limit_seconds = 60.0) {
    const auto end = std::chrono::steady_clock::now() +
                     std::chrono::milliseconds(static_cast<long>(limit_seconds * 1000));
    while (!is_reached()) {
      if (std::chrono::steady_clock::now() > end) FAIL("it was not reached in time");
      io_.restart();
      io_.run_for(std::chrono::milliseconds(10));
    }
  }
  // Lets whatever is under way come.
  void run_on() {
    io_.restart();
    io_.run_for(std::chrono::milliseconds(300));
  }

  void request(MachineId id, std::uint32_t worker = 0, bool spot = false, std::string type = {}) {
    MachineRequest request;
    request.worker = worker;
    request.spot = spot;
    request.type = std::move(type);
    diary_.calling = true;
    provider_->request(id, request);
    diary_.calling = false;
  }
  void release(MachineId id) {
    diary_.calling = true;
    provider_->release(id);
    diary_.calling = false;
  }
  void abandon(MachineId id) {
    diary_.calling = true;
    provider_->abandon(id);
    diary_.calling = false;
  }
  const Machine& ready(MachineId id, std::uint32_t worker = 0, bool spot = false) {
    request(id, worker, spot);
    run_until([&] { return !words(id).empty() && words(id).back() != "delayed"; });
    if (diary_.refusals.contains(id)) FAIL(Error(diary_.refusals.at(id).problem).what());
    REQUIRE(words(id).back() == "ready");
    return diary_.machines.at(id);
  }
  std::vector<std::string> words(MachineId id) const {
    const auto found = diary_.words.find(id);
    return found == diary_.words.end() ? std::vector<std::string>() : found->second;
  }
  void end() {
    if (std::exchange(is_ended_, true)) return;
    bool is_done = false;
    std::vector<std::string> left;
    provider_->end([&](std::vector<std::string> what) {
      is_done = true;
      left = std::move(what);
    });
    run_until([&] { return is_done; });
    CHECK(left == std::vector<std::string>());
  }
  // Runs a command there, as a worker is started.
  CommandResult run_there(const Machine& machine, std::vector<std::string> command,
                          std::string input = {}) {
    std::vector<std::string> words = machine.launch;
    words.insert(words.end(), command.begin(), command.end());
    std::optional<CommandResult> result;
    asio::co_spawn(
        io_, run_command(std::move(words), std::move(input), 30.0),
        [&](const std::exception_ptr&, CommandResult done) { result = std::move(done); });
    run_until([&] { return result.has_value(); });
    return *result;
  }

  asio::io_context& io() { return io_; }
  Provider& provider() { return *provider_; }
  ProviderDiary& diary() { return diary_; }

 private:
  asio::io_context io_;
  ProviderDiary diary_;
  std::unique_ptr<Provider> provider_;
  bool is_ended_ = false;
};

using Words = std::vector<std::string>;

// A machine that is there takes a command, with all of its input, and says all that it says.
inline void check_commands(ProviderTrial& trial, const Machine& machine) {
  const std::string input(300'000, 'x');
  const CommandResult echo = trial.run_there(machine, {"cat"}, input);
  CHECK(echo.succeeded());
  CHECK(echo.output == input);
  CHECK(trial.run_there(machine, {"sh", "-c", "exit 3"}).status.code == 3);
  const Words odd = {"printf", "%s|", "two words", "it's", "$HOME", ""};
  CHECK(trial.run_there(machine, odd).output == "two words|it's|$HOME||");
}

// What every catalogue must be, and what the functions say that are made from it.
inline void check_catalogue(const Provider& provider) {
  const MachineCatalogue& catalogue = provider.catalogue();
  REQUIRE_FALSE(catalogue.entries.empty());
  for (const CatalogueEntry& entry : catalogue.entries) {
    CAPTURE(entry.type, entry.zone);
    CHECK(entry.cores >= 0.0);
    CHECK(entry.memory_gib >= 0.0);
    CHECK(entry.gpus >= 0.0);
    CHECK(entry.link_megabits >= 0.0);
    CHECK((entry.on_demand || entry.spot));
    for (const auto& price : {entry.on_demand, entry.spot})
      if (price) CHECK(price->per_hour >= 0.0);
    // Another entry of the type and zone would be the same machines once more.
    CHECK(std::ranges::count_if(catalogue.entries, [&](const CatalogueEntry& other) {
            return other.type == entry.type && other.zone == entry.zone && !entry.zone.empty();
          }) <= 1);
    if (!entry.type.empty()) CHECK(provider.price(entry.type, false).has_value());
  }
  CHECK(provider.price({}, false).has_value());
  CHECK(provider.price({}, true).has_value());
  CHECK_FALSE(provider.price("no such type", false).has_value());
}

// A machine is one of those that were offered, and is charged as was said.
inline void check_offered(const Provider& provider, const Machine& machine) {
  CAPTURE(machine.type, machine.zone, machine.price.per_hour);
  const auto& entries = provider.catalogue().entries;
  CHECK(std::ranges::any_of(entries, [&](const CatalogueEntry& entry) {
    return entry.type == machine.type && (entry.zone.empty() || entry.zone == machine.zone) &&
           machine.price == (machine.spot && entry.spot ? entry.spot : entry.on_demand);
  }));
}

// The contract. Needs room for two machines.
inline void check_conformance(const ProviderTrial::Make& make) {
  ProviderTrial trial(make);
  const MachineCatalogue offered = trial.provider().catalogue();
  check_catalogue(trial.provider());

  const Machine first = trial.ready(1, 0);
  CHECK_FALSE(first.name.empty());
  CHECK_FALSE(first.address.empty());
  if (!first.starts_worker) check_commands(trial, first);

  // Each has its price, and they are told apart.
  REQUIRE(trial.provider().price({}, false));
  CHECK(first.price == *trial.provider().price({}, false));
  const Machine second = trial.ready(2, 1);
  check_offered(trial.provider(), first);
  check_offered(trial.provider(), second);
  CHECK(trial.provider().catalogue() == offered);
  if (first.name != "here") CHECK(first.name != second.name);

  // Releasing is once, however often it is asked for, and ends one machine only.
  trial.release(1);
  trial.release(1);
  trial.run_until([&] { return trial.words(1).size() > 1; });
  trial.release(1);
  trial.release(77);
  trial.run_on();
  CHECK(trial.words(1) == Words{"ready", "released"});
  CHECK(trial.words(2) == Words{"ready"});
  CHECK(trial.words(77).empty());

  // A request that is withdrawn ends, whether it was answered first or not.
  trial.request(3, 2);
  trial.release(3);
  trial.run_until([&] { return !trial.words(3).empty() && trial.words(3).back() == "released"; });

  // One that is abandoned ends once, too; nothing is known against it.
  trial.ready(5, 4);
  trial.abandon(5);
  trial.abandon(5);
  trial.run_until([&] { return trial.words(5).size() > 1; });
  trial.run_on();
  CHECK(trial.words(5) == Words{"ready", "released"});

  // At the end everything is given back, also what is still on its way.
  trial.request(4, 3);
  trial.end();
  CHECK(trial.words(2) == Words{"ready", "released"});
  CHECK(trial.words(4).back() == "released");
}

}  // namespace scavenger
