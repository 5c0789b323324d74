// One shard of the parameter server for the synchronisation benchmarks, or the keeper of the shared
// memory, without a controller. Says "ready PORT", and ends with its standard input.
//
//   sync_shard --floats N --workers K --index I --shards S --listen HOST
//   sync_shard --floats N --workers K --shared-file FD

#include <CLI/CLI.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <iostream>
#include <memory>

#include "ps/shm/segment_keeper.h"
#include "ps/tcp/shard_server.h"
#include "test/bench/bench_job.h"

namespace scavenger::bench {
namespace {

struct ShardOptions {
  JobOptions job;
  std::uint32_t index = 0;
  std::uint32_t shards = 1;
  std::string host = "127.0.0.1";
  int shared_file = -1;
};

std::unique_ptr<ps::ShardService> make_service(const ShardOptions& options, asio::io_context& io) {
  const JobOptions& job = options.job;
  if (options.shared_file >= 0)
    return std::make_unique<ps::SegmentKeeper>(io, FileDescriptor(options.shared_file),
                                               job.optimizer(), job.chunk_bytes);
  return std::make_unique<ps::ShardServer>(io, Endpoint{options.host, 0}, read_credentials(),
                                           job.optimizer(), job.chunk_bytes);
}

void serve(const ShardOptions& options) {
  asio::io_context io(1);
  const auto service = make_service(options, io);
  ConfigureShard message;
  message.index = options.index;
  message.shards = options.shards;
  message.flat_size = options.job.floats;
  message.samples_per_epoch = kSamplesPerEpoch;
  message.membership = membership_of(options.job);
  service->configure(message);
  std::cout << "ready " << service->port() << std::endl;
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
  ShardOptions options;
  declare(app, options.job);
  app.add_option("--index", options.index);
  app.add_option("--shards", options.shards);
  app.add_option("--listen", options.host);
  app.add_option("--shared-file", options.shared_file, "an inherited file descriptor");
  CLI11_PARSE(app, argc, argv);
  try {
    serve(options);
    return 0;
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
}
