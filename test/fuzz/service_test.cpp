// What comes in over HTTP and the control socket: requests for the page, commands, measurements for
// the model service, and replies of Compute Engine.
#include <fstream>
#include <nlohmann/json.hpp>
#include <vector>

#include "cloud_gcp/api/cloud_fault.h"
#include "cloud_gcp/api/compute_json.h"
#include "cloud_gcp/api/json_text.h"
#include "elastic/coordinator/commands/job_command.h"
#include "elastic/model_service/model_service.h"
#include "elastic/page/page_request.h"
#include "perfmodel/store/model_record.h"
#include "perfmodel/store/observation_table.h"
#include "perfmodel/store/sqlite_store.h"
#include "test/fuzz/fuzz.h"
#include "test/support/temporary_folder.h"
#include "test/unit/perfmodel/store/sample_record.h"

using namespace scavenger;
using namespace scavenger::elastic;

namespace {

const std::string kToken = "0123456789abcdef";

// Fields on lines of their own, so that damage meets all of them.
PageRequest request_of(const std::string& input) {
  PageRequest request;
  std::size_t first = 0;
  for (std::string* field :
       {&request.method, &request.target, &request.host, &request.origin, &request.cookie,
        &request.authorization, &request.content_type, &request.fetch_site}) {
    const std::size_t end = std::min(input.find('\n', first), input.size());
    *field = input.substr(first, end - first);
    first = std::min(end + 1, input.size());
  }
  return request;
}

// As compute_client.cpp reads them.
nlohmann::json reply_of(const std::string& input) {
  const auto reply = gcp::parse_object(input);
  if (!reply) throw ProtocolError({.what = "no JSON object", .where = {}, .remedy = {}});
  return *reply;
}

const std::vector<std::string> kMessageFragments = {
    "null", "-1", "1e400", "[]", "{}", "\"\"", "true", "18446744073709551616", "\\ud800", "[[["};

const std::string kInstance =
    R"({"name":"a","status":"STAGING","zone":"https://x/zones/us-central1-a",)"
    R"("machineType":"https://x/machineTypes/e2","creationTimestamp":"2019-03-25T12:22:36.614-07:00",)"
    R"("labels":{"job":"mlp"},"scheduling":{"provisioningModel":"SPOT"},)"
    R"("networkInterfaces":[{"networkIP":"10.128.0.7"}]})";

}  // namespace

TEST_CASE("fuzz: whoever does not bring the page's token gets nothing, whatever the request") {
  const PageAccess access{.token = kToken, .port = 8080, .is_loopback = true};
  const std::vector<std::string> originals = {
      "GET\n/?token=" + kToken + "\n127.0.0.1:8080\n\n\n\n\nnone",
      "POST\n/command\nlocalhost:8080\nhttp://localhost:8080\nscavenger_8080=" + kToken +
          "\n\napplication/json\nsame-origin",
      "GET\n/metrics\n127.0.0.1:8080\n\n\nBearer " + kToken + "\n\n"};
  const std::vector<std::string> fragments = {"token=", "scavenger_8080=", "Bearer ", ";", "&",
                                              "?"};

  const Verdicts verdicts =
      fuzz<ProtocolError>(Mutations(109, originals, fragments), [&](const std::string& input) {
        const PageDecision decision = decide(request_of(input), access);
        const bool refused = decision.answer == PageAnswer::kRefused;
        require_consistent(refused || input.find(kToken) != std::string::npos);
        require_consistent(!refused || (decision.status >= 400 && decision.status < 500));
        if (refused) throw ProtocolError({.what = decision.reason, .where = {}, .remedy = {}});
      });

  CHECK(verdicts.accepted > 0);
}

TEST_CASE("fuzz: a damaged command is refused, or it is another that could be given") {
  const std::vector<std::string> originals = {
      R"({"command":"status"})", R"({"command":"pause"})",
      R"({"command":"resize","workers":4,"batch_size":64})"};

  const Verdicts verdicts =
      fuzz<InputError>(Mutations(113, originals, kMessageFragments), [](const std::string& input) {
        const JobCommand command = parse_job_command(input);
        if (const auto* resize = std::get_if<command::Resize>(&command))
          require_consistent(resize->workers.value_or(1) > 0 && resize->batch_size.value_or(1) > 0);
      });

  CHECK(verdicts.accepted > 0);
}

TEST_CASE("fuzz: damaged measurements are refused, or could have been measured") {
  const std::string original = perfmodel::to_json_text(perfmodel::sample_record());

  const Verdicts verdicts =
      fuzz<DataError>(Mutations(127, {original}, kMessageFragments), [](const std::string& input) {
        const perfmodel::ModelRecord record = perfmodel::parse_model_record(input, "a request");
        perfmodel::check_record(record);
        require_consistent(perfmodel::parse_model_record(perfmodel::to_json_text(record), "") ==
                           record);
      });

  CHECK(verdicts.accepted > 0);
}

TEST_CASE("fuzz: whatever is sent to the model service, it answers in JSON") {
  const TemporaryFolder folder;
  perfmodel::SqliteStore store(folder.path() / "s.sqlite");
  const perfmodel::ModelRecord record = perfmodel::sample_record();
  const std::string text = perfmodel::to_json_text(record), id = record.signature.id();
  // Method, path and body on lines.
  const std::vector<std::string> originals = {
      "GET\n/models\n", "POST\n/models\n" + text, "GET\n/models/" + id + "\n",
      "PUT\n/models/" + id + "/fit\n{\"a\":1}", "DELETE\n/models/" + id + "\n"};

  const Verdicts verdicts = fuzz<InputError>(
      Mutations(179, originals, kMessageFragments),
      [&](const std::string& input) {
        const std::size_t method = std::min(input.find('\n'), input.size());
        const std::size_t path = std::min(input.find('\n', method + 1), input.size());
        const ServiceAnswer answer = answer_request(
            store, input.substr(0, method),
            input.substr(std::min(method + 1, path), path - std::min(method + 1, path)),
            input.substr(std::min(path + 1, input.size())));
        require_consistent(nlohmann::json::accept(answer.body));
        if (answer.status != 200)
          throw InputError({.what = answer.body, .where = {}, .remedy = {}});
      },
      {.bytes = 1 << 22, .bytes_per_byte = 1000});

  CHECK(verdicts.accepted > 0);
}

TEST_CASE("fuzz: a damaged table of observations is refused, or could have been measured") {
  const TemporaryFolder folder;
  const std::filesystem::path file = folder.path() / "table";
  const std::vector<std::string> originals = {
      "workers,batch_size,iteration_seconds,epochs,hours\n1,64,0.01,5,0.1\n2,64,0.008,,\n",
      R"([{"workers":2,"batch_size":64,"iteration_milliseconds":8.5,"noise":0.7,"job":"a"}])"};
  std::vector<std::string> fragments = kMessageFragments;
  fragments.insert(fragments.end(), {",", "\"", "\n", "\r\n", "#", "nan", "inf", "seconds"});

  const Verdicts verdicts =
      fuzz<DataError>(Mutations(181, originals, fragments),
                      [&](const std::string& input) {
                        std::ofstream(file, std::ios::binary) << input;
                        perfmodel::check_record(perfmodel::read_observation_table(file, {}, 6000));
                      },
                      {.bytes = 1 << 17, .bytes_per_byte = 2000});

  CHECK(verdicts.accepted > 0);
}

TEST_CASE("fuzz: a damaged reply of Compute Engine is refused, or it is another good one") {
  const std::vector<std::string> originals = {
      kInstance, R"({"items":[)" + kInstance + R"(],"nextPageToken":"t"})",
      R"({"name":"op","status":"DONE","operationType":"insert","targetLink":"https://x/vm-1",)"
      R"("clientOperationId":"id","error":{"errors":[{"code":"QUOTA_EXCEEDED"}]}})",
      R"({"name":"g2-standard-8","guestCpus":8,"memoryMb":32768,"isSharedCpu":false,)"
      R"("accelerators":[{"guestAcceleratorType":"nvidia-l4","guestAcceleratorCount":1}]})",
      R"({"name":"us-central1","quotas":[{"metric":"CPUS","limit":24.0,"usage":2}]})"};

  const Verdicts verdicts = fuzz<ProtocolError>(
      Mutations(131, originals, kMessageFragments), [](const std::string& input) {
        const nlohmann::json reply = reply_of(input);
        if (reply.contains("items"))
          gcp::parse_instance_page(reply);
        else if (reply.contains("operationType"))
          gcp::fault_of_operation(gcp::parse_operation(reply).raw);
        else if (reply.contains("guestCpus"))
          gcp::parse_machine_type(reply);
        else if (reply.contains("quotas"))
          gcp::parse_quotas(reply);
        else
          gcp::parse_instance(reply);
      });

  CHECK(verdicts.accepted > 0);
}

TEST_CASE("fuzz: whatever stands in a refusal of Compute Engine, it is some fault") {
  const std::string original =
      R"({"error":{"code":403,"message":"Quota 'CPUS' exceeded. Limit: 24.0 in region us-central1.",)"
      R"("errors":[{"domain":"usageLimits","reason":"quotaExceeded","message":"x"}],)"
      R"("details":[{"metadatas":{"quotaMetric":"CPUS","quotaLimit":"24"}}]}})";
  Mutations mutations(137, {original, R"({"error":"invalid_grant","error_description":"x"})", ""},
                      kMessageFragments);

  for (int i = fuzz_inputs(); i > 0; --i) {
    const unsigned status = 300 + static_cast<unsigned>(mutations.random().below(300));
    const bool accepted = judge<ProtocolError>(mutations.next(), [&](const std::string& input) {
      const gcp::CloudFault fault = gcp::fault_of_reply(status, input);
      require_consistent(!fault.code.empty());
      nlohmann::json(fault.message).dump();  // throws where a character was cut
    });
    REQUIRE(accepted);
  }
}

TEST_CASE("a reply that nests without end is refused, not followed until the stack is gone") {
  const std::string deep(1 << 20, '[');
  const std::string open = R"({"error":)" + deep;

  CHECK_FALSE(gcp::parse_object(open));
  CHECK_FALSE(gcp::parse_object(open + std::string(1 << 20, ']') + "}"));
  CHECK(gcp::fault_of_reply(400, open).code == "HTTP 400");
}
