#include "elastic/coordinator/staffing/fleet.h"

#include <catch2/catch.hpp>
#include <sstream>
#include <utility>
#include <vector>

#include "elastic/coordinator/job/job_record.h"
#include "test/support/temporary_folder.h"

using namespace scavenger;
using namespace scavenger::elastic;

namespace {

// One second of a machine costs a dollar, of which at least a minute is charged, and half a minute
// more for its way back.
const MachinePrice kPrice = {
    .per_hour = 3600.0, .minimum_seconds = 60.0, .returning_seconds = 30.0, .source = {}};

// Its machines come, and are gone, when the test says so.
class PatientProvider final : public Provider {
 public:
  std::string name() const override { return "patient"; }
  void begin(ProviderListener& listener, BeginDone done) override {
    listener_ = &listener;
    done(std::nullopt);
  }
  void request(MachineId id, const MachineRequest& request) override {
    requested.push_back(id);
    types.push_back(request.type);
    spot.push_back(request.spot);
  }
  void release(MachineId id) override { released.push_back(id); }
  void abandon(MachineId id) override { abandoned.push_back(id); }
  void note_leaving(MachineId id) override { leaving.push_back(id); }
  void end(EndDone done) override { done({}); }
  const MachineCatalogue& catalogue() const override { return catalogue_; }

  void bring(MachineId id) {
    Machine machine;
    machine.name = "vm";
    machine.price = kPrice;
    listener_->on_ready(id, machine);
  }
  void take_back(MachineId id) { listener_->on_released(id); }
  void lose(MachineId id, bool was_taken = true) {
    listener_->on_lost(id, {.how = "is gone", .was_taken = was_taken});
  }
  void refuse(MachineId id) { listener_->on_refused(id, {}); }
  void run_out(MachineId id) { listener_->on_refused(id, {RefusalKind::kCapacity, {}, {}}); }
  void run_out_for_now(MachineId id) {
    listener_->on_delayed(id, {RefusalKind::kCapacity, {}, 60.0});
  }

  std::vector<MachineId> requested, released, abandoned, leaving;
  std::vector<std::string> types;
  std::vector<bool> spot;

 private:
  ProviderListener* listener_ = nullptr;
  const MachineCatalogue catalogue_{{{.type = {}, .on_demand = kPrice},
                                     {.type = "free", .on_demand = MachinePrice()},
                                     {.type = "dear", .on_demand = kPrice}}};
};

class NewsOfMachines final : public FleetListener {
 public:
  void on_machine_ready(std::uint32_t worker, const Machine&) override { add("ready", worker); }
  void on_machine_refused(std::uint32_t worker, const Refusal&) override { add("refused", worker); }
  void on_machine_notice(std::uint32_t worker, const MachineNotice&) override {
    add("notice", worker);
  }
  void on_machine_lost(std::uint32_t worker, const MachineLoss&) override { add("lost", worker); }
  void on_machine_judged(std::uint32_t worker, const std::optional<MachineLoss>& loss) override {
    add(loss ? "was lost" : "was there", worker);
  }

  std::vector<std::pair<std::string, std::uint32_t>> all;

 private:
  void add(const char* what, std::uint32_t worker) { all.emplace_back(what, worker); }
};

class FleetTest {
 protected:
  FleetTest() {
    record.log(fact::Start{});
    fleet.begin([](const std::optional<Refusal>&) {});
  }

  PatientProvider provider;
  NewsOfMachines news;
  TemporaryFolder folder;
  SteadyClock clock;
  std::ostringstream output;
  JobRecord record{RunFolder{folder.path()}, clock, Display{output}};
  Fleet fleet{provider, [this](RunEvent event) { record.log(std::move(event)); }, news,
              /*spot=*/true, /*logs_machines=*/true};
};

}  // namespace

TEST_CASE_METHOD(FleetTest, "Until a machine is back it may cost its minimum and its way back") {
  CHECK(fleet.dollars_to_return() == 0.0);

  fleet.want(4, "ticket");
  fleet.want(7, "ticket");
  CHECK(fleet.dollars_to_return() == Approx(2 * (60.0 + 30.0)));

  // What it has cost so far is in the bill.
  provider.bring(provider.requested.at(0));
  CHECK(fleet.dollars_to_return() == Approx(30.0 + (60.0 + 30.0)));

  // The request may still be answered by a machine: that is charged, too.
  fleet.release(7);
  CHECK(fleet.dollars_to_return() == Approx(30.0 + (60.0 + 30.0)));
  provider.take_back(provider.requested.at(1));
  CHECK(fleet.dollars_to_return() == Approx(30.0));

  provider.lose(provider.requested.at(0));
  CHECK(fleet.dollars_to_return() == 0.0);
}

TEST_CASE_METHOD(FleetTest, "A machine that comes after its release is nobody's, and is charged") {
  fleet.want(4, "ticket");
  fleet.release(4);
  provider.bring(provider.requested.at(0));

  CHECK(fleet.machine_of(4) == nullptr);
  CHECK(news.all.empty());
  CHECK(fleet.dollars_to_return() == Approx(60.0 + 30.0));
  provider.take_back(provider.requested.at(0));
  CHECK(fleet.dollars_to_return() == 0.0);
}

TEST_CASE_METHOD(FleetTest, "A worker has one machine: the same until it is gone, then another") {
  fleet.want(4, "ticket");
  fleet.want(4, "ticket");
  REQUIRE(provider.requested.size() == 1);
  provider.bring(provider.requested.at(0));
  fleet.want(4, "ticket");  // its worker died: the machine is still there
  REQUIRE(provider.requested.size() == 1);
  provider.lose(provider.requested.at(0));
  fleet.want(4, "ticket");
  REQUIRE(provider.requested.size() == 2);
  provider.refuse(provider.requested.at(1));

  using News = std::vector<std::pair<std::string, std::uint32_t>>;
  CHECK(news.all == News{{"ready", 4}, {"ready", 4}, {"lost", 4}, {"refused", 4}});
  CHECK(fleet.dollars_to_return() == 0.0);
}

TEST_CASE_METHOD(FleetTest, "A machine that is abandoned is replaced at once, and judged later") {
  for (const std::uint32_t worker : {4U, 5U, 6U}) fleet.want(worker, "ticket");
  for (const MachineId id : std::vector(provider.requested)) provider.bring(id);
  fleet.note_leaving(5);
  CHECK(provider.leaving == std::vector{provider.requested.at(1)});
  news.all.clear();
  fleet.abandon(4);
  fleet.abandon(5);
  fleet.abandon(6);
  CHECK(provider.abandoned == provider.requested);
  fleet.want(4, "ticket");
  CHECK(provider.released.empty());
  CHECK(provider.requested.size() == 4);
  CHECK(news.all.empty());
  provider.lose(provider.requested.at(0));
  provider.take_back(provider.requested.at(1));
  using News = std::vector<std::pair<std::string, std::uint32_t>>;
  CHECK(news.all == News{{"was lost", 4}, {"was there", 5}});
  provider.lose(provider.requested.at(2), /*was_taken=*/false);
  CHECK(news.all.size() == 3);
  // The log tells of one that was lost; on the last one the worker ended by itself.
  CHECK(record.numbers().bill.lost() == 1);
  // One that is only released is nobody's news.
  provider.bring(provider.requested.at(3));
  fleet.release(4);
  provider.lose(provider.requested.at(3));
  CHECK(news.all.size() == 4);
}

TEST_CASE_METHOD(FleetTest, "Machines of several types are charged by their own prices") {
  fleet.prefer("dear");
  fleet.want(1, "ticket");
  fleet.prefer("free");
  fleet.want(2, "ticket");
  CHECK(fleet.dollars_to_return() == Approx(60.0 + 30.0));
  fleet.release(1);
  CHECK(fleet.dollars_to_return() == Approx(60.0 + 30.0));
}

TEST_CASE_METHOD(FleetTest, "An index that is free again may get another type") {
  fleet.prefer("dear");
  fleet.want(4, "ticket");
  fleet.want(5, "ticket");
  provider.refuse(provider.requested.at(0));
  provider.refuse(provider.requested.at(1));
  fleet.prefer("free");
  fleet.forget_unless([](std::uint32_t worker) { return worker == 5; });
  fleet.want(4, "ticket");
  fleet.want(5, "ticket");  // it is still part of the job, and keeps its type
  CHECK(provider.types == std::vector<std::string>{"dear", "dear", "free", "dear"});
}

TEST_CASE_METHOD(FleetTest, "From a moment on machines are asked for on demand, or as spot ones") {
  fleet.ask_for_spot(true);
  fleet.want(1, "ticket");
  fleet.ask_for_spot(false);
  fleet.want(2, "ticket");
  provider.lose(provider.requested.at(0));
  fleet.want(1, "ticket");
  CHECK(provider.spot == std::vector<bool>{true, false, false});
}

TEST_CASE_METHOD(FleetTest, "A type that is preferred once is that of the next machine alone") {
  fleet.prefer("dear");
  fleet.prefer_once("free");
  fleet.want(1, "ticket");
  fleet.want(2, "ticket");
  provider.lose(provider.requested.at(0));
  fleet.want(1, "ticket");  // it is the same worker
  fleet.prefer_once("free");
  fleet.prefer("dear");  // there will be no such machine
  fleet.want(3, "ticket");
  CHECK(provider.types == std::vector<std::string>{"free", "dear", "free", "dear"});
}

TEST_CASE_METHOD(FleetTest,
                 "If there is no machine of a type, others are asked for in their order") {
  fleet.prefer("dear", {"free", "third"});
  fleet.want(1, "ticket");
  fleet.want(2, "ticket");
  provider.run_out(provider.requested.at(0));          // in no zone, and for long
  provider.run_out_for_now(provider.requested.at(1));  // in its only zone
  CHECK(provider.types == std::vector<std::string>{"dear", "dear", "free", "free"});
  CHECK(provider.released == std::vector<MachineId>{provider.requested.at(1)});
  provider.take_back(provider.requested.at(1));
  provider.run_out(provider.requested.at(2));
  CHECK(provider.types.back() == "third");
  CHECK(news.all.empty());
  provider.run_out(provider.requested.back());  // that was the last one
  using News = std::vector<std::pair<std::string, std::uint32_t>>;
  CHECK(news.all == News{{"refused", 1}});
  provider.bring(provider.requested.at(3));
  CHECK(news.all == News{{"refused", 1}, {"ready", 2}});
}

TEST_CASE_METHOD(FleetTest,
                 "No other type is asked for if just one will do, or it is no shortage") {
  fleet.prefer("dear", {"free"});
  fleet.prefer_once("third");
  fleet.want(1, "ticket");
  provider.run_out(provider.requested.at(0));
  fleet.want(2, "ticket");
  provider.refuse(provider.requested.at(1));  // nothing was reached
  fleet.prefer("dear");
  fleet.want(3, "ticket");
  provider.run_out(provider.requested.at(2));
  CHECK(provider.types == std::vector<std::string>{"third", "dear", "dear"});
  using News = std::vector<std::pair<std::string, std::uint32_t>>;
  CHECK(news.all == News{{"refused", 1}, {"refused", 2}, {"refused", 3}});
}

TEST_CASE_METHOD(FleetTest,
                 "A job that has machines waits for their type, one that has none does not") {
  fleet.prefer("dear", {"free"});
  fleet.want(1, "ticket");
  fleet.want(2, "ticket");
  provider.bring(provider.requested.at(0));
  fleet.prefer("dear", {"free", "third"});  // the job has decided something
  provider.run_out(provider.requested.at(1));
  CHECK(provider.types == std::vector<std::string>{"dear", "dear"});
  provider.lose(provider.requested.at(0));
  for (const std::uint32_t worker : {1U, 2U}) fleet.want(worker, "ticket");
  provider.run_out(provider.requested.at(2));
  CHECK(provider.types.back() == "free");
  provider.run_out(provider.requested.back());
  CHECK(provider.types.back() == "third");
  provider.run_out(provider.requested.back());  // there is none at all
  fleet.want(1, "ticket");
  CHECK(provider.types.back() == "dear");
}

TEST_CASE_METHOD(FleetTest, "What is refused has the type that was asked for") {
  fleet.prefer("dear", {"free"});
  fleet.want(1, "ticket");
  provider.run_out_for_now(provider.requested.at(0));
  provider.take_back(provider.requested.at(0));
  provider.run_out(provider.requested.at(1));
  std::vector<std::string> refused;
  for (const auto& [time, machine] : record.numbers().machines.latest)
    if (machine.change == fact::MachineChange::kRefused) refused.push_back(machine.machine_type);
  CHECK(refused == std::vector<std::string>{"dear", "free"});
}
