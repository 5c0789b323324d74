// What the configuration says of Compute Engine: its object `provider` of type "gcp" (docs/gcp.md).
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "cloud_gcp/api/compute_client.h"
#include "cloud_gcp/api/vm_order.h"
#include "cloud_gcp/provider/offers.h"
#include "runtime/config/provider_config.h"

namespace scavenger::gcp {

// What a VM starts.
struct VmProgram {
  std::string programs;  // a folder of the image, or an archive at https:// or gs://
  std::vector<std::string> words = {"scavenger-worker"};  // one of them, and its arguments
};

struct GcpSettings {
  ComputePlace place;
  CredentialSettings credentials;

  bool spot = true;      // for the look at what can be had
  unsigned workers = 1;  // that the job begins with: for the same

  std::vector<std::string> zones;          // to choose from
  std::vector<std::string> machine_types;  // to choose from
  AddedGpus gpus;
  DiskOrder disk;
  NetworkOrder network;
  std::string service_account = "default";  // of the VMs
  VmProgram started;
  std::string controller_address;  // at which VMs reach us; empty: this VM's own

  double max_run_seconds = 86400.0;        // of a VM: then the cloud deletes it
  double preemption_notice_seconds = 0.0;  // 0 or 120
  double wait_seconds = 1800.0;            // for capacity, before a request is refused
  double watch_seconds = 10.0;             // between two looks at what is there
  double settle_seconds = 60.0;  // after which a request that was lost is not carried out any more
  CoolDown cool_down;
  Patience patience;
  std::filesystem::path prices;  // a catalog; empty: the built-in one
};

// Requires a checked configuration.
GcpSettings gcp_settings(const ProviderConfig& config);

// The catalog that the settings name. Throws InputError.
PriceCatalog price_catalog(const GcpSettings& settings);

}  // namespace scavenger::gcp
