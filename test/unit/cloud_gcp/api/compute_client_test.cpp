#include "cloud_gcp/api/compute_client.h"

#include <catch2/catch.hpp>
#include <cstdlib>
#include <map>

#include "cloud_gcp/api/identity.h"
#include "runtime/base/file.h"
#include "test/unit/cloud_gcp/api/test_client.h"
#include "test/unit/cloud_gcp/fake_cloud.h"

namespace scavenger::gcp {
TEST_CASE("A VM is made, seen, listed page by page and deleted") {
  asio::io_context io;
  json cloud = small_cloud();
  cloud["page_size"] = 2;
  FakeCloud fake(io, cloud);
  Client client(io, fake.endpoint());
  ComputeClient& compute = *client.compute;
  for (const char* name : {"vm-1", "vm-2", "vm-3", "vm-4", "vm-5"})
    REQUIRE(run(io, compute.insert(order(name), client.new_id())).outcome == Outcome::kDone);
  VmOrder other = order("vm-6");
  other.labels = {{kJobLabel, "job-2"}};
  REQUIRE(run(io, compute.insert(other, client.new_id())).outcome == Outcome::kDone);

  const auto found = run(io, compute.find("us-central1-a", "vm-3"));
  REQUIRE(found.has_value());
  CHECK(found->state == VmState::kRunning);
  CHECK(found->is_spot);
  CHECK(run(io, compute.list("us-central1-a", job_filter("job-1"))).size() == 5);
  CHECK(run(io, compute.list("us-central1-a", any_job_filter())).size() == 6);
  CHECK(run(io, compute.list("us-central1-b", any_job_filter())).empty());

  CHECK(run(io, compute.remove("us-central1-a", "vm-3", client.new_id())).outcome ==
        Outcome::kDone);
  CHECK_FALSE(run(io, compute.find("us-central1-a", "vm-3")).has_value());
  CHECK(run(io, compute.remove("us-central1-a", "vm-3", client.new_id())).outcome ==
        Outcome::kDone);
  const json ledger = fake.ledger();
  CHECK(ledger["violations"] == json::array());
  CHECK(ledger["vms"].size() == 6);
}

TEST_CASE("Metadata are added to a VM, each item once, and no guest attribute is none") {
  asio::io_context io;
  json cloud = small_cloud();
  cloud["seed"] = 3;
  cloud["faults"] = {{"reply_lost", 0.3}, {"error_after", 0.2}, {"error_before", 0.2}};
  FakeCloud fake(io, cloud);
  Client client(io, fake.endpoint());
  ComputeClient& compute = *client.compute;
  VmOrder wanted = order("vm-1");
  wanted.metadata = {{"first", "1"}};
  REQUIRE(run(io, compute.insert(wanted, client.new_id())).outcome == Outcome::kDone);
  for (const char* key : {"a", "b", "c", "a"})
    run(io, compute.add_metadata("us-central1-a", "vm-1", key, std::string("value of ") + key));

  const json expected = {
      {"first", "1"}, {"a", "value of a"}, {"b", "value of b"}, {"c", "value of c"}};
  const json ledger = fake.ledger();
  CHECK(ledger["vms"][0]["metadata"] == expected);
  CHECK(ledger["violations"] == json::array());
  CHECK_FALSE(run(io, compute.guest_attribute("us-central1-a", "vm-1", "scavenger/certificate"))
                  .has_value());
  CHECK_THROWS_AS(run(io, compute.add_metadata("us-central1-a", "vm-2", "a", "b")), CloudError);
}

TEST_CASE("Whatever happens to requests and replies, each VM is made once") {
  asio::io_context io;
  json cloud = small_cloud();
  cloud["seed"] = 5;
  cloud["faults"] = {{"reply_lost", 0.2},   {"late", 0.1},           {"duplicate", 0.2},
                     {"error_before", 0.1}, {"error_after", 0.1},    {"rate_limit", 0.05},
                     {"slow_wait", 0.3},    {"lost_operation", 0.1}, {"token_expiry", 0.05}};
  FakeCloud fake(io, cloud);
  Client client(io, fake.endpoint());
  constexpr int kVms = 30;
  int done = 0;
  const auto make = [&client](std::string name) -> awaitable<void> {
    const ChangeResult made = co_await client.compute->insert(order(name), client.new_id());
    CHECK(made.outcome == Outcome::kDone);
    const ChangeResult gone =
        co_await client.compute->remove("us-central1-a", name, client.new_id());
    CHECK(gone.outcome == Outcome::kDone);
  };
  for (int i = 0; i < kVms; ++i)
    asio::co_spawn(io, make("vm-" + std::to_string(i)), [&done](std::exception_ptr error) {
      CHECK_FALSE(error);
      ++done;
    });
  io.restart();
  while (done < kVms && io.run_one() > 0) {
  }
  const json ledger = fake.ledger();
  std::map<std::string, int> times;
  for (const json& vm : ledger["vms"]) {
    ++times[vm["name"]];
    CHECK_FALSE(vm["gone"].is_null());
  }
  CHECK(times.size() == kVms);
  for (const auto& [name, count] : times) CHECK(count == 1);
  CHECK(ledger["violations"] == json::array());
  for (const char* fault :
       {"reply_lost", "late", "duplicate", "error_before", "error_after", "lost_operation"})
    CHECK(ledger["faults"][fault] > 0);
}

TEST_CASE("What is refused says why, and what to do") {
  asio::io_context io;
  json cloud = small_cloud();
  cloud["zones"]["us-central1-b"] = {{"*", 0}};
  cloud["quotas"] = {{"us-central1", {{"CPUS", 2}}}};
  cloud["accounts"]["developer@demo"]["permissions"] = {
      "compute.instances.create", "compute.instances.get", "compute.zoneOperations.get"};
  FakeCloud fake(io, cloud);
  Client client(io, fake.endpoint());
  ComputeClient& compute = *client.compute;
  const auto refusal = [&](const VmOrder& wanted) {
    const ChangeResult result = run(io, compute.insert(wanted, client.new_id()));
    CHECK(result.outcome == Outcome::kRefused);
    return result.fault.value_or(CloudFault{});
  };
  VmOrder elsewhere = order("vm-0");
  elsewhere.zone = "us-central1-b";
  CHECK(refusal(elsewhere).kind == FaultKind::kStockOut);
  REQUIRE(run(io, compute.insert(order("vm-1"), client.new_id())).outcome == Outcome::kDone);
  const CloudFault quota = refusal(order("vm-2"));
  CHECK(quota.kind == FaultKind::kQuota);
  CHECK_THAT(compute.problem(quota, "zone us-central1-a").what,
             Catch::Contains("the quota CPUS is 2.0"));

  VmOrder wrong = order("vm-3");
  wrong.machine_type = "e2-standard-3";
  CHECK(refusal(wrong).kind == FaultKind::kInvalid);
  wrong.zone = "us-central1-z";
  CHECK(refusal(wrong).kind == FaultKind::kNotFound);

  const ChangeResult kept = run(io, compute.remove("us-central1-a", "vm-1", client.new_id()));
  CHECK(kept.outcome == Outcome::kRefused);
  CHECK(kept.fault->subject == "compute.instances.delete");

  Client stranger(io, fake.endpoint(), {}, "another-project");
  CHECK_THROWS_WITH(run(io, stranger.compute->list("us-central1-a", "")),
                    Catch::Contains("another-project") && Catch::Contains("check the project"));
}

TEST_CASE("Tokens are had for a key, renewed before their end, and a refused one is replaced") {
  asio::io_context io;
  TemporaryFolder folder;
  json cloud = small_cloud();
  make_key_file(folder.path(), "x");
  cloud["accounts"]["job@demo"] = {{"public_key", (folder.path() / "key.pub").string()}};
  cloud["token_seconds"] = 1;
  cloud["faults"] = {{"token_expiry", 0.3}};
  FakeCloud fake(io, cloud);
  json key = json::parse(read_file(folder.path() / "key.json"));
  key["token_uri"] = fake.endpoint() + "/token";
  write_file_atomically(folder.path() / "key.json", key.dump());
  std::filesystem::permissions(folder.path() / "key.json", std::filesystem::perms(0600));
  const CredentialSettings exchanged{folder.path() / "key.json", false};
  Client client(io, fake.endpoint(), exchanged);
  for (int i = 0; i < 12; ++i) CHECK(run(io, client.compute->list("us-central1-a", "")).empty());
  CHECK(fake.ledger()["tokens"] > 1);

  const CredentialSettings self_signed{folder.path() / "key.json", true};
  const json before = fake.ledger();
  Client alone(io, fake.endpoint(), self_signed);
  CHECK(run(io, alone.compute->list("us-central1-a", "")).empty());
  CHECK(fake.ledger()["tokens"] == before["tokens"]);

  SECTION("another key is not believed, and nothing of it is shown") {
    TemporaryFolder others;
    make_key_file(others.path(), fake.endpoint() + "/token");
    Client impostor(io, fake.endpoint(), {others.path() / "key.json", false});
    CHECK_THROWS_WITH(run(io, impostor.compute->list("us-central1-a", "")),
                      Catch::Contains("Invalid JWT Signature") &&
                          Catch::Contains("make a new key") && !Catch::Contains("PRIVATE"));
  }
  SECTION("a key that others may read is not used") {
    std::filesystem::permissions(folder.path() / "key.json", std::filesystem::perms(0644));
    CHECK_THROWS_WITH(Client(io, fake.endpoint(), exchanged), Catch::Contains("chmod 600"));
  }
}

TEST_CASE(
    "A token that is over is said so, and a server that is not there is not taken for a refusal") {
  asio::io_context io;
  FakeCloud fake(io, small_cloud());
  ::setenv("SCAVENGER_GCP_TOKEN", "dev", 1);
  Client client(io, fake.endpoint());
  SECTION("token") {
    json cloud = small_cloud();
    cloud["accounts"] = {{"developer@demo", {{"token", "another"}}}};
    FakeCloud other(io, cloud);
    Client late(io, other.endpoint());
    CHECK_THROWS_WITH(run(io, late.compute->list("us-central1-a", "")),
                      Catch::Contains("credentials") && Catch::Contains("new key or token") &&
                          !Catch::Contains("dev"));
  }
  SECTION("no server") {
    HttpClient http(io);
    HttpRequest request;
    request.url = "http://127.0.0.1:1/";
    try {
      run(io, http.send(request));
      FAIL("nobody listens there");
    } catch (const HttpError& error) {
      CHECK(error.stage() == HttpError::Stage::kNotSent);
    }
  }
}

TEST_CASE("A server with a certificate that nobody vouches for gets no token") {
  asio::io_context io;
  TemporaryFolder folder;
  const std::string certificate = (folder.path() / "certificate.pem").string();
  const std::string key = (folder.path() / "private.pem").string();
  const std::string command =
      "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -addext "
      "subjectAltName=DNS:localhost -keyout " +
      key + " -out " + certificate + " 2>/dev/null";
  REQUIRE(std::system(command.c_str()) == 0);
  FakeCloud fake(io, small_cloud(), {"--certificate", certificate, "--key", key});
  REQUIRE_THAT(fake.endpoint(), Catch::StartsWith("https://localhost:"));
  ::unsetenv("SSL_CERT_FILE");
  Client client(io, fake.endpoint());
  CHECK_THROWS_WITH(run(io, client.compute->list("us-central1-a", "")),
                    Catch::Contains("not to be trusted") && Catch::Contains("certificate"));
  const ChangeResult refused = run(io, client.compute->insert(order("vm-1"), client.new_id()));
  CHECK(refused.outcome == Outcome::kRefused);

  ::setenv("SSL_CERT_FILE", certificate.c_str(), 1);  // as an administrator adds one
  Client trusting(io, fake.endpoint());
  CHECK(run(io, trusting.compute->list("us-central1-a", "")).empty());

  std::string by_address = fake.endpoint();
  by_address.replace(by_address.find("localhost"), 9,
                     "127.0.0.1");  // the certificate is for another name
  Client misled(io, by_address);
  CHECK_THROWS_WITH(run(io, misled.compute->list("us-central1-a", "")),
                    Catch::Contains("not to be trusted"));
  ::unsetenv("SSL_CERT_FILE");
}

TEST_CASE("An endpoint that would show the token to others is refused") {
  asio::io_context io;
  CHECK_THROWS_WITH(Client(io, "http://compute.example.com"), Catch::Contains("in clear"));
  CHECK_THROWS_AS(Client(io, "compute.example.com"), InputError);
}

}  // namespace scavenger::gcp
