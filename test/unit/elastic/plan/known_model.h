// Measurements of a job that do not come from a run: seconds follow a formula.
#pragma once

#include <string>

#include "elastic/plan/known_model.h"

namespace scavenger::elastic {

inline double seconds_at(double workers, double batch) {
  return 0.01 + 0.001 * batch / workers + 0.002 * workers;
}

inline perfmodel::ModelRecord small_record(const std::string& name = "digits") {
  perfmodel::ModelRecord record;
  record.signature = {"architecture of " + name, 1000, "digits", 10000, "sgd"};
  record.name = name;
  for (const double batch : {64.0, 256.0}) {
    for (const double workers : {1.0, 2.0, 4.0})
      record.times.push_back(
          {"job", "small", workers, batch, seconds_at(workers, batch), 1e-5, 100.0});
    record.noise.push_back({"job", 1, 2.0, batch, 300.0, 250.0, 350.0, 0.4, 500.0});
    record.epochs.push_back({"job", "test accuracy 0.9", 2.0, batch, 4.0 + batch / 100.0, 60.0});
  }
  return record;
}

inline KnownModel small_model() {
  KnownModel model;
  model.record = small_record();
  model.title = "runs/digits";
  return model;
}

}  // namespace scavenger::elastic
