// Runs one job: tells the controller what happens, has carried out what it decides, and keeps the
// record. Wiring only: the processes are in staffing/, their work in work/, who advises in advice/.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "elastic/coordinator/advice/advisors.h"
#include "elastic/coordinator/job/job_facts.h"
#include "elastic/coordinator/job/job_record.h"
#include "elastic/coordinator/job/recorded_controller.h"
#include "elastic/coordinator/job_world.h"
#include "elastic/coordinator/staffing/staffing.h"
#include "elastic/coordinator/store_reports.h"
#include "elastic/coordinator/work/job_work.h"

namespace scavenger::elastic {

// Thread: the event loop's.
class Coordinator final : private StaffingListener {
 public:
  // Throws InputError if another process works on the run folder.
  Coordinator(JobStart start, DataSize data, JobWorld world);
  ~Coordinator() override;

  // Begins or goes on with the record. Call once, before run().
  void begin();
  // Until the job has ended; the exit code: 0, 1 (failed) or 130 (interrupted). Throws InputError
  // if what the user gave was found to be wrong before anything was trained.
  int run();

  // In the loop: ends the job at the nearest boundary with a checkpoint; `presses`: at once, if it
  // is not the first that does.
  void interrupt(bool presses);
  // In the loop: does what people ask for. Throws InputError.
  nlohmann::json obey(const JobCommand& command);

  const Controller& controller() const { return recorded_.controller(); }

 private:
  void run_until_end();
  void open();
  void tick();
  void stop_at_boundary(const std::string& by);

  void log(RunEvent event);  // and asks the advisors
  void take(Advice advice);
  void reshape(const Advice::Shape& shape);
  JobView view() const { return {record_.numbers(), controller()}; }
  void log_pause();
  void meter_cost();
  void tell_problems();

  void carry_out(const ControllerAction& action);
  void tell_recovery(const TellRecovery& action);
  void start_process(const StartProcess& action);
  void end_processes();
  void end_job(const EndJob& action);

  void on_shortage(const ControllerEvent& event, const std::string& why) override;
  void on_all_gone() override;

  const JobWorld world_;
  JobStart start_;
  const DataSize data_;
  const std::string config_json_;
  JobRecord record_;
  RecordedController recorded_;
  Advisors advisors_;
  std::unique_ptr<JobWork> work_;
  std::unique_ptr<Staffing> staffing_;
  std::optional<StoreReports> store_;     // if the configuration names a store
  std::shared_ptr<void> commands_;        // hears them
  std::optional<bool> spot_;              // of those machines; nothing: as configured
  std::string machine_type_;              // of the machines that are asked for; empty: any
  std::vector<std::string> other_types_;  // if there is none of it
  std::optional<EndJob> end_;
  bool has_thrown_ = false;  // a handler did, or a coroutine that is not waited for
  int interrupts_ = 0;       // that press
  bool interrupt_told_ = false;
  bool removed_log_told_ = false;
};

}  // namespace scavenger::elastic
