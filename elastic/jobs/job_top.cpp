#include "elastic/jobs/job_top.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <boost/asio/signal_set.hpp>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>

#include "elastic/coordinator/commands/control_socket.h"
#include "elastic/page/job_screen.h"
#include "elastic/page/log_follower.h"
#include "runtime/base/error.h"
#include "runtime/net/asio.h"

namespace scavenger::elastic {
namespace {

constexpr auto kRedraw = std::chrono::seconds(1);
constexpr auto kReadAll = std::chrono::hours(1);
constexpr const char* kOtherScreen = "\x1b[?1049h";  // what was on the terminal comes back after it
constexpr const char* kOwnScreen = "\x1b[?1049l";
constexpr const char* kHome = "\x1b[H\x1b[2J";

ScreenSize terminal_size() {
  struct winsize size {};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_row == 0)
    return {.columns = 120, .rows = 60};
  return {.columns = size.ws_col, .rows = size.ws_row};
}

class Top final {
 public:
  explicit Top(const std::string& run_folder)
      : run_folder_(run_folder), follower_(run_folder_ / "events.jsonl") {
    if (!std::filesystem::exists(run_folder_ / "events.jsonl"))
      throw InputError({.what = "there is no events.jsonl, so this is no run folder",
                        .where = run_folder,
                        .remedy = "name the folder of a job, such as runs/fashion_mlp"});
  }

  std::string screen() {
    follower_.advance(kReadAll);
    double seconds = follower_.history().numbers().seconds;
    std::string state;
    try {
      const nlohmann::json status = ask_job(run_folder_, {{"command", "status"}});
      state = status.at("state").get<std::string>();
      seconds = status.at("seconds").get<double>();
    } catch (const Error&) {  // it has ended, or hangs: the screen says so
    }
    std::string text;
    for (const std::string& line : job_screen(follower_.history(), state, seconds, terminal_size()))
      text += line + "\n";
    return text;
  }

  bool has_ended() const { return follower_.history().numbers().status.has_value(); }

 private:
  const std::filesystem::path run_folder_;
  LogFollower follower_;
};

}  // namespace

void show_top(const std::string& run_folder, std::ostream& out) {
  Top top(run_folder);
  if (::isatty(STDOUT_FILENO) != 1) {
    out << top.screen();
    return;
  }
  asio::io_context io{1};
  asio::signal_set signals(io, SIGINT, SIGTERM);
  signals.async_wait([&](const boost::system::error_code&, int) { io.stop(); });
  asio::steady_timer timer(io);
  std::string screen;
  const std::function<void()> redraw = [&] {
    screen = top.screen();
    out << kHome << screen << std::flush;
    if (top.has_ended()) return io.stop();
    timer.expires_after(kRedraw);
    timer.async_wait([&](const boost::system::error_code& error) {
      if (!error) redraw();
    });
  };
  out << kOtherScreen;
  asio::post(io, redraw);
  io.run();
  out << kOwnScreen << screen << std::flush;
}

}  // namespace scavenger::elastic
