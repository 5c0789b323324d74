// Compute Engine as a provider: one VM for each worker, which starts it by itself.
//
// Each VM carries the job's label, and the ledger in the job's state folder says what was asked
// for: so begin() removes what an earlier process has left, the watch removes what nobody knows (a
// request that was carried out although it looked lost), and end() returns only when a list by
// label is empty.
#pragma once

#include <exception>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cloud_gcp/api/compute_client.h"
#include "cloud_gcp/provider/gcp_settings.h"
#include "cloud_gcp/provider/offers.h"
#include "cloud_gcp/provider/vm_ledger.h"
#include "runtime/base/clock.h"
#include "runtime/provider/lessor.h"

namespace scavenger::gcp {

// Thread: the io_context's. It has more than 25 methods: those of its port, and the steps of a VM
// from the request to its end, which share its ledger and the offers that were refused.
class GcpProvider final : public Lessor {
 public:
  // `state_folder`: of the job, the same for each of its processes. Throws InputError for settings
  // that cannot be used: no price, no project, a key that is none. The clock must outlive it.
  GcpProvider(asio::io_context& io, GcpSettings settings, const std::string& job_name,
              const std::filesystem::path& state_folder, const Clock& clock);
  ~GcpProvider() override;

  std::string name() const override { return "gcp"; }
  std::string controller_address() const override { return controller_address_; }
  const MachineCatalogue& catalogue() const override { return catalogue_; }

 private:
  struct Vm {
    std::string name;
    Offer offer;
    bool is_spot = false;
    bool is_ready = false;
    double asked_seconds = 0.0;
  };
  // Requests of one moment, which are sent to Compute Engine as one.
  struct BulkRequest {
    explicit BulkRequest(asio::io_context& io)
        : change(io, asio::steady_timer::time_point::max()) {}
    std::map<MachineId, MachineRequest> members;
    std::map<MachineId, Machine> machines;  // of the members that got one
    std::exception_ptr failure;
    bool is_served = false;
    asio::steady_timer change;
  };
  struct Settled {
    std::optional<Machine> machine;
    CloudFault fault;  // if there is none
  };

  awaitable<void> open() override;
  awaitable<Machine> obtain(MachineId id, const MachineRequest& request) override;
  awaitable<void> give_back(MachineId id) override;
  awaitable<std::vector<std::string>> close() override;

  awaitable<void> check();
  OfferChoice& offers_for(const std::string& type, bool spot);
  std::vector<Offer> make_offers(const std::string& type, bool spot) const;
  VmOrder order_of(const Vm& vm) const;
  // A VM's name, written down before it is asked for.
  Vm intend(MachineId id, const MachineRequest& request, const Offer& offer,
            const std::string& request_name);
  // The machine, or nothing if this offer is to be had no more.
  awaitable<std::optional<Machine>> take(MachineId id, MachineRequest request, Offer offer,
                                         OfferChoice& offers);
  // The same for all that are asked for at this moment, if there are several.
  awaitable<std::optional<Machine>> take_with_others(MachineId id, MachineRequest request,
                                                     OfferChoice& offers);
  awaitable<void> rent_together(std::shared_ptr<BulkRequest> bulk, OfferChoice& offers);
  // What became of a VM that was asked for.
  awaitable<Settled> settle(MachineId id, std::string ticket, ChangeResult result);
  Machine machine_of(const Vm& vm, const Instance& instance) const;
  // Whoever may see a VM can read its metadata, so its ticket goes there enciphered for the
  // certificate that the VM makes when it boots, and tells in its guest attributes.
  awaitable<void> hand_over_ticket(MachineId id, Vm vm, std::string ticket);
  void note_refusal(const std::vector<MachineId>& ids, const Offer& offer, const CloudFault& fault,
                    OfferChoice& offers);
  Refusal refusal_of_all(const OfferChoice& offers) const;
  Refusal refusal_of(const CloudFault& fault, const Offer& offer) const;

  // Deletes a VM, and does not give up soon. `may_still_come`: a request for it may be under way.
  void dispose(const std::string& zone, const std::string& name, bool may_still_come);
  awaitable<void> dispose_of(std::string zone, std::string name, bool may_still_come);
  awaitable<void> find_controller_address();
  awaitable<void> watch();
  awaitable<void> look_at(std::string zone);
  awaitable<void> notice_loss(MachineId id, Vm vm);
  awaitable<bool> note_life(Vm vm);  // returns whether it was preempted
  std::set<std::string> all_zones() const;
  bool is_known(const std::string& vm) const;

  const GcpSettings settings_;
  const std::string job_name_;
  const Clock& clock_;
  const PriceCatalog prices_;
  const MachineCatalogue catalogue_;
  HttpClient http_;
  std::unique_ptr<TokenSource> tokens_;
  std::unique_ptr<ComputeClient> client_;
  VmLedger ledger_;
  RandomStream random_;
  std::string controller_address_;
  std::map<std::string, OfferChoice> offers_;                                 // by type and kind
  std::map<const OfferChoice*, std::shared_ptr<BulkRequest>> bulk_requests_;  // that still gather
  std::map<MachineId, Vm> vms_;
  OfferLives lives_;                              // of spot VMs
  std::optional<Refusal> permanent_refusal_;      // no VM can be of use any more
  std::map<std::string, std::string> disposals_;  // under way: name, and zone
  bool is_closing_ = false;
};

}  // namespace scavenger::gcp
