#include "test/unit/kubernetes/fake_cluster.h"

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <stdexcept>

#include "runtime/base/file.h"
#include "runtime/http/http_client.h"

namespace scavenger::kubernetes {
namespace {

constexpr int kStartTries = 1200;  // of 50 ms

bool has_schemas() {
  static const bool is_there =
      std::system(SCAVENGER_TEST_PYTHON " -c 'import kubernetes_validate' 2>/dev/null") == 0;
  return is_there;
}

}  // namespace

FakeCluster::FakeCluster(asio::io_context& io, const json& settings,
                         std::vector<std::string> options)
    : io_(io) {
  const std::filesystem::path file = folder_.path() / "settings.json";
  std::ofstream(file) << settings.dump();
  ChildProcess::Command command;
  command.program = SCAVENGER_TEST_PYTHON;
  command.arguments = {SCAVENGER_FAKE_KUBERNETES, "--settings",   file.string(), "--kubeconfig",
                       kubeconfig().string(),     "--with-parent"};
  if (has_schemas()) {
    command.arguments.push_back("--validate");
    command.arguments.push_back("1.25,1.37");
  }
  command.arguments.insert(command.arguments.end(), options.begin(), options.end());
  command.log = folder_.path() / "fake.log";
  process_ = std::make_unique<ChildProcess>(io_, command, [](ExitStatus) {});
  for (int i = 0; i < kStartTries && endpoint_.empty(); ++i) {
    io_.restart();
    io_.run_for(std::chrono::milliseconds(50));
    const std::string text = log_tail(command.log, 4096);
    const json line = json::parse(text.substr(0, text.find('\n')), nullptr, false);
    if (line.is_object()) endpoint_ = line.at("endpoint");
    if (!process_->running()) throw std::runtime_error("the fake does not start: " + text);
  }
  if (endpoint_.empty()) throw std::runtime_error("the fake cluster says nothing");
}

json FakeCluster::ask(const std::string& what) {
  HttpClient http(io_);
  std::optional<std::string> body;
  HttpRequest request;
  request.url = endpoint_ + "/fake/" + what;
  asio::co_spawn(io_, http.send(std::move(request)),
                 [&body](std::exception_ptr, const HttpReply& reply) { body = reply.body; });
  io_.restart();
  while (!body && io_.run_one() > 0) {
  }
  return json::parse(body.value_or(""));
}

json small_cluster() {
  const json spot = {{"cpu", 4},
                     {"labels", {{"spot", "true"}}},
                     {"spot", true},
                     {"taints", {{{"key", "spot"}, {"value", "true"}, {"effect", "NoSchedule"}}}}};
  return {{"nodes", {{"node-a", {{"cpu", 4}}}, {"node-b", {{"cpu", 4}}}, {"node-spot", spot}}},
          {"accounts", {{"dev", json::object()}}}};
}

KubernetesSettings quick_settings(const std::filesystem::path& kubeconfig) {
  KubernetesSettings settings;
  settings.access.kubeconfig = kubeconfig;
  settings.image = "scavenger:test";
  settings.controller_address = "127.0.0.1";
  MachineKind kind;
  kind.type = "small";
  kind.price_per_hour = 0.1;
  kind.spot_price_per_hour = 0.03;
  kind.spot_node_labels = {{"spot", "true"}};
  kind.spot_tolerations = {{{"key", "spot"}, {"operator", "Exists"}}};
  settings.machines = {kind};
  settings.wait_seconds = 60.0;
  settings.patience.backoff = {.initial_seconds = 0.02, .factor = 2.0, .longest_seconds = 0.3};
  settings.patience.read_seconds = 60.0;
  settings.patience.change_seconds = 60.0;
  settings.watch.backoff = settings.patience.backoff;
  return settings;
}

}  // namespace scavenger::kubernetes
