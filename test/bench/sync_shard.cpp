// One shard of the parameter server for the synchronisation benchmarks, without a controller. Says
// "ready PORT", and ends with its standard input.
//
//   sync_shard --floats N --workers K --index I --shards S --listen HOST

#include <CLI/CLI.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <iostream>

#include "ps/tcp/shard_server.h"
#include "test/bench/bench_job.h"

namespace scavenger::bench {
namespace {

void serve(const JobOptions& job, std::uint32_t index, std::uint32_t shards,
           const std::string& host) {
  const JobCredentials credentials = read_credentials();
  asio::io_context io(1);
  ps::ShardServer server(io, {host, 0}, credentials, job.optimizer(), job.chunk_bytes);
  ConfigureShard message;
  message.index = index;
  message.shards = shards;
  message.flat_size = job.floats;
  message.samples_per_epoch = 1'000'000;
  message.membership = membership_of(job);
  server.configure(message);
  std::cout << "ready " << server.port() << std::endl;
  asio::posix::stream_descriptor input(io, ::dup(STDIN_FILENO));
  char byte = 0;
  asio::async_read(input, asio::buffer(&byte, 1),
                   [&io](const boost::system::error_code&, std::size_t) { io.stop(); });
  io.run();
}

}  // namespace
}  // namespace scavenger::bench

int main(int argc, char** argv) {
  using namespace scavenger::bench;
  CLI::App app("One shard of the parameter server for the synchronisation benchmarks.");
  JobOptions job;
  std::uint32_t index = 0;
  std::uint32_t shards = 1;
  std::string host = "127.0.0.1";
  declare(app, job);
  app.add_option("--index", index);
  app.add_option("--shards", shards);
  app.add_option("--listen", host);
  CLI11_PARSE(app, argc, argv);
  try {
    serve(job, index, shards, host);
    return 0;
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
}
