// What programs print that reach a cluster's machines: Slurm's, and scavenger-worker over ssh.
#include <algorithm>
#include <cctype>

#include "runtime/provider/slurm/slurm_text.h"
#include "runtime/provider/ssh/ssh_provider.h"
#include "test/fuzz/fuzz.h"

using namespace scavenger;

namespace {

const std::vector<std::string> kSlurmFragments = {
    " ",      "\n", "\r\n",       "\t", ";", "=", "NodeAddr=", "sbatch: warning: x\n",
    "slurm-", "-",  "99999999999"};

bool is_word(const std::string& text) {
  return !text.empty() && std::ranges::none_of(text, [](unsigned char c) {
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
  });
}

// All that is read of Slurm's programs: each part is nothing, or a word that can be passed on.
void read_slurm(const std::string& printed) {
  const auto submitted = submitted_slurm_job(printed);
  if (submitted)
    require_consistent(is_word(*submitted) &&
                       submitted->find_first_not_of("0123456789") == std::string::npos);
  const auto states = slurm_job_states(printed);
  for (const auto& [job, found] : states)
    require_consistent(is_word(job) && is_word(found.state) &&
                       (found.node.empty() || is_word(found.node)));
  for (const auto& [job, found] : states)
    if (found.seconds_left) require_consistent(*found.seconds_left >= 0.0);
  if (const auto gib = slurm_memory_gib_per_core(printed)) require_consistent(*gib > 0.0);
  require_consistent(slurm_cores_per_node(printed).size() <= 65536);
  for (const std::string& name : slurm_node_names(printed)) require_consistent(is_word(name));
  if (const auto own = interface_address(printed)) require_consistent(is_word(*own));
  const auto address = slurm_node_address(printed);
  if (address) require_consistent(is_word(*address));
  for (const auto& [job, name] : named_slurm_jobs(printed)) {
    require_consistent(is_word(job) && job.front() >= '0' && job.front() <= '9');
    require_consistent(name.find('\n') == std::string::npos);
    if (const auto owner = owner_of_slurm_job(name, "scavenger-host-"))
      require_consistent(*owner > 0);
  }
  if (!submitted && states.empty() && !address)
    throw ProtocolError({.what = "nothing of use", .where = {}, .remedy = {}});
}

}  // namespace

TEST_CASE("fuzz: whatever Slurm's programs print, no part of it is taken for what it is not") {
  const std::vector<std::string> originals = {
      "4711\n",
      "sbatch: warning: no account\n4711;cluster\n",
      "12 RUNNING 1-02:03:04 n1\n13 PENDING UNLIMITED \nsqueue: warning: slow\n",
      "12 scavenger-host-4711\n13 another job\n14_3 scavenger-host-1\n",
      "NodeName=n1 Arch=x86_64 CPUAlloc=0 NodeAddr=10.0.0.7 NodeHostName=n1 State=IDLE\n",
      "JobId=7 TRES=cpu=4,mem=2G,node=1\n",
      "8(x2),4",
      "2: ib0 inet6 2001:db8::7/64 scope global\n"};

  const Verdicts verdicts =
      fuzz<ProtocolError>(Mutations(139, originals, kSlurmFragments), read_slurm);

  CHECK(verdicts.accepted > 0);
}

TEST_CASE("fuzz: a host counts only where its worker's last line is that of this build") {
  const std::string version = "scavenger-worker 0.1.0 (abc)";
  Mutations mutations(149, {version + "\n", "Welcome!\n\n" + version + " \n", "sh: not found\n"},
                      {"\n", " ", "\r", "\t", version});
  CommandResult result;

  const Verdicts verdicts = fuzz<MachineRefused>(
      [&] {
        result.is_late = mutations.random().below(8) == 0;
        result.status.code =
            mutations.random().below(3) == 0 ? static_cast<int>(mutations.random().below(256)) : 0;
        return mutations.next();
      },
      [&](const std::string& printed) {
        result.output = printed;
        auto refusal = ssh_refusal(result, "vm1", "/opt/scavenger-worker", version);
        if (refusal) {
          require_consistent(!refusal->problem.what.empty() && refusal->retry_after_seconds);
          throw MachineRefused(std::move(*refusal));
        }
        require_consistent(result.succeeded() && printed.find(version) != std::string::npos);
      });

  CHECK(verdicts.accepted > 0);
}
