// A record with rows of every kind.
#pragma once

#include <string>

#include "perfmodel/store/model_record.h"

namespace scavenger::perfmodel {

inline ModelRecord sample_record(const std::string& job = "job1") {
  ModelRecord record;
  record.signature = {"a1b2", 101770, "fashion 01", 60000, "sgd 0.05"};
  record.name = "fashion_mlp";
  record.price_per_worker_hour = 0.134;
  for (const double workers : {1.0, 2.0, 4.0})
    for (const double batch : {64.0, 256.0})
      record.times.push_back(
          {job, "e2", workers, batch, 0.001 + 0.00001 * batch / workers, 1e-5, 100});
  record.noise = {{job, 1, 2, 64, 250.0, 200.0, 0.0, 0.8, 900}};
  record.epochs = {{job, "test accuracy 0.88", 2, 64, 5.5, 33.0}};
  record.compute = {{job, "e2", 1, 16, 0.0007, 1e-5, 80}, {job, "n2", 1, 16, 0.0004, 1e-5, 60}};
  return record;
}

}  // namespace scavenger::perfmodel
