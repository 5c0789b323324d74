#include "apps/onlookers.h"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string_view>

#include "elastic/coordinator/control_socket.h"
#include "elastic/model_service/model_service.h"
#include "runtime/base/random.h"
#include "runtime/base/text.h"

namespace scavenger {
namespace {

constexpr std::size_t kTokenBytes = 24;

bool is_number(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(),
                                      [](unsigned char c) { return std::isdigit(c) != 0; });
}

std::string fresh_token() {
  std::vector<std::byte> bytes(kTokenBytes);
  fill_with_secret_bytes(bytes);
  return to_hex(bytes);
}

}  // namespace

void declare_onlookers(CLI::App& app, OnlookerOptions& options) {
  app.add_option("--serve", options.serve,
                 "Show the job on a page while it runs: --serve, or --serve PORT")
      ->type_name("[PORT]");
  app.add_option("--serve-address", options.address,
                 "Where the page listens; others than loopback are not encrypted")
      ->capture_default_str();
  app.add_option("--serve-token", options.token_file,
                 "A file with the page's token, made where it is missing (a fresh one each time)");
  app.add_flag("--tensorboard", options.tensorboard,
               "Write RUN/tensorboard/, the job's scalars for TensorBoard");
}

std::vector<std::string> arguments_with_serve(int argc, char** argv) {
  std::vector<std::string> arguments;
  for (int i = 1; i < argc; ++i) {
    arguments.emplace_back(argv[i]);
    if (arguments.back() != "--serve") continue;
    const bool has_port = i + 1 < argc && is_number(argv[i + 1]);
    arguments.back() += std::string("=") + (has_port ? argv[++i] : "0");
  }
  std::reverse(arguments.begin(), arguments.end());
  return arguments;
}

Onlookers start_onlookers(const OnlookerOptions& options, const std::filesystem::path& run_folder) {
  Onlookers onlookers;
  if (options.serve) {
    elastic::LivePageOptions page;
    page.run_folder = run_folder;
    page.address = options.address;
    page.port = *options.serve;
    page.token =
        options.token_file.empty() ? fresh_token() : elastic::token_from(options.token_file, true);
    page.tell = [run_folder](const nlohmann::json& command) {
      return elastic::ask_job(run_folder, command);
    };
    onlookers.page = std::make_unique<elastic::LivePage>(std::move(page));
    std::cout << "live page: " << onlookers.page->url() << std::endl;
  }
  if (options.tensorboard)
    onlookers.tensorboard =
        std::make_unique<elastic::TensorboardMirror>(run_folder, run_folder / "tensorboard");
  return onlookers;
}

}  // namespace scavenger
