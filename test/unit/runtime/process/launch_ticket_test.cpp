#include "runtime/process/launch_ticket.h"

#include <catch2/catch.hpp>
#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "runtime/base/error.h"

using namespace scavenger;
using nlohmann::json;

namespace {

LaunchTicket read(const std::string& standard_input) {
  std::istringstream text(standard_input);
  std::streambuf* const before = std::cin.rdbuf(text.rdbuf());
  std::cin.clear();
  try {
    LaunchTicket ticket = read_launch_ticket();
    std::cin.rdbuf(before);
    return ticket;
  } catch (...) {
    std::cin.rdbuf(before);
    throw;
  }
}

LaunchTicket sample_ticket() {
  LaunchTicket ticket;
  ticket.role = Role::kShard;
  ticket.index = 3;
  ticket.credentials = JobCredentials::generate();
  ticket.controller = {"127.0.0.1", 40123};
  ticket.threads = 5;
  ticket.listen_host = "10.0.0.7";
  ticket.listen_port = 65535;
  ticket.config = "{\"name\": \"a job\",\n \"seed\": 7}";
  return ticket;
}

std::string changed(const char* key, const json& value) {
  json document = json::parse(encode(sample_ticket()));
  document[key] = value;
  return document.dump() + "\n";
}

}  // namespace

TEST_CASE("a launch ticket comes out as it went in") {
  const LaunchTicket ticket = sample_ticket();

  const LaunchTicket arrived = read(encode(ticket));

  CHECK(arrived.role == ticket.role);
  CHECK(arrived.index == ticket.index);
  CHECK(arrived.credentials.job_id == ticket.credentials.job_id);
  CHECK(arrived.credentials.secret == ticket.credentials.secret);
  CHECK(arrived.controller.host == ticket.controller.host);
  CHECK(arrived.controller.port == ticket.controller.port);
  CHECK(arrived.threads == ticket.threads);
  CHECK(arrived.listen_host == ticket.listen_host);
  CHECK(arrived.listen_port == ticket.listen_port);
  CHECK(arrived.config == ticket.config);
}

TEST_CASE("a ticket is one line, whatever the configuration holds") {
  const std::string text = encode(sample_ticket());

  CHECK(text.find('\n') == text.size() - 1);
}

TEST_CASE("who starts a worker by hand is told what starts it") {
  for (const char* const typed :
       {"", "\n", "hello\n", "{}\n", "[1, 2]\n", "{\"role\": \"worker\"}\n"})
    CHECK_THROWS_WITH(read(typed), Catch::Contains("scavenger-train"));
}

TEST_CASE("a ticket with a value that cannot be is refused") {
  CHECK_NOTHROW(read(changed("index", 4)));
  CHECK_THROWS_AS(read(changed("role", "wizard")), InputError);
  CHECK_THROWS_AS(read(changed("index", -1)), InputError);
  CHECK_THROWS_AS(read(changed("port", 65536)), InputError);
  CHECK_THROWS_AS(read(changed("threads", 1.5)), InputError);
  CHECK_THROWS_AS(read(changed("threads", 0)), InputError);
  CHECK_THROWS_AS(read(changed("secret", "00ff")), InputError);
  CHECK_THROWS_AS(read(changed("secret", std::string(64, 'x'))), InputError);
}
