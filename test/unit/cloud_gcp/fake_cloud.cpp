#include "test/unit/cloud_gcp/fake_cloud.h"

#include <sys/stat.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "runtime/base/file.h"
#include "runtime/base/text.h"
#include "runtime/http/http_client.h"

namespace scavenger::gcp {
namespace {

using json = nlohmann::json;

constexpr int kStartTries = 600;  // of 50 ms

void write(const std::filesystem::path& path, const std::string& text) {
  std::ofstream(path) << text;
}

std::filesystem::path proto_file() {
  const char* const folder = std::getenv("SCAVENGER_SHARED_DATA");
  return std::filesystem::path(folder != nullptr ? folder : SCAVENGER_SHARED_DATA_DEFAULT) /
         "gcp/compute.proto";
}

}  // namespace

FakeCloud::FakeCloud(asio::io_context& io, const json& settings,
                     const std::vector<std::string>& options)
    : io_(io) {
  write(folder_.path() / "settings.json", settings.dump());
  ChildProcess::Command command;
  command.program = "python3";
  command.arguments = {SCAVENGER_FAKE_GCE, "--settings",
                       (folder_.path() / "settings.json").string(), "--with-parent"};
  if (std::filesystem::exists(proto_file())) {
    command.arguments.push_back("--proto");
    command.arguments.push_back(proto_file().string());
  }
  command.arguments.insert(command.arguments.end(), options.begin(), options.end());
  command.inherited_file = -1;
  command.log = folder_.path() / "fake_gce.log";
  process_ = std::make_unique<ChildProcess>(io_, command, [](ExitStatus) {});
  for (int i = 0; i < kStartTries && endpoint_.empty(); ++i) {
    io_.restart();
    io_.run_for(std::chrono::milliseconds(50));
    const std::string text = log_tail(command.log, 4096);
    const json line = json::parse(text.substr(0, text.find('\n')), nullptr, false);
    if (line.is_object()) endpoint_ = line.at("endpoint");
    if (!process_->running()) throw std::runtime_error("the fake cloud does not start: " + text);
  }
  if (endpoint_.empty()) throw std::runtime_error("the fake cloud says nothing");
}

json FakeCloud::ledger() {
  HttpClient http(io_);
  HttpRequest request;
  request.url = endpoint_ + "/fake/ledger";
  return json::parse(run(io_, http.send(request)).body);
}

json small_cloud() {
  return {{"zones", {{"us-central1-a", {{"*", 1000}}}, {"us-central1-b", {{"*", 1000}}}}},
          {"machine_types", {{"e2-standard-2", {2, 8}}, {"n2d-standard-2", {2, 8}}}},
          {"accounts", {{"developer@demo", {{"token", "dev"}}}}},
          {"time_scale", 200}};
}

std::filesystem::path make_key_file(const std::filesystem::path& folder,
                                    const std::string& token_uri) {
  const std::string pem = (folder / "key.pem").string();
  const std::string commands =
      "openssl genpkey -quiet -algorithm RSA -pkeyopt rsa_keygen_bits:2048 -out " + pem +
      " 2>/dev/null || openssl genpkey -algorithm RSA -pkeyopt rsa_keygen_bits:2048 -out " + pem +
      " 2>/dev/null; openssl pkey -in " + pem + " -pubout -out " + (folder / "key.pub").string();
  if (std::system(commands.c_str()) != 0) throw std::runtime_error("openssl makes no key");
  const std::filesystem::path file = folder / "key.json";
  const json key = {{"type", "service_account"},  {"project_id", "demo"},
                    {"private_key_id", "k1"},     {"private_key", read_file(pem)},
                    {"client_email", "job@demo"}, {"token_uri", token_uri}};
  write(file, key.dump());
  ::chmod(file.c_str(), 0600);
  return file;
}

}  // namespace scavenger::gcp
