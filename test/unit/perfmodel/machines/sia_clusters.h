// Seconds per iteration of jobs on clusters whose machines have several GPUs each (the Sia tables
// of the developers' shared folder), and the set-ups that count as measured.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "perfmodel/machines/machine_model.h"

namespace scavenger::perfmodel {

struct GpuSetup {
  double vms = 1.0;
  double gpus = 1.0;         // in all
  double local_batch = 1.0;  // of one GPU
  double seconds = 0.0;
};

// By cluster, by job; in order of VMs, GPUs and batch.
using GpuSetups = std::vector<GpuSetup>;
using GpuClusters = std::map<std::string, std::map<std::string, GpuSetups>>;

// Empty if the folder is missing.
GpuClusters sia_clusters();

// Three local batches on one GPU.
GpuSetups one_gpu_probes(const GpuSetups& setups);
// Three with several GPUs, the ends of both axes: one full VM, with the largest batch; two VMs with
// the fewest GPUs, with a middle one; all VMs, full, with the smallest.
GpuSetups several_gpu_probes(const GpuSetups& setups);
MachineUse use_of(const GpuSetup& setup);

}  // namespace scavenger::perfmodel
