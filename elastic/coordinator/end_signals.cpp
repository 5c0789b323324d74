#include "elastic/coordinator/end_signals.h"

#include <csignal>

namespace scavenger::elastic {
namespace {

bool is_ignored(int signal) {
  struct sigaction action {};
  return ::sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

}  // namespace

void add_end_signals(boost::asio::signal_set& signals) {
  for (const int signal : {SIGINT, SIGTERM, SIGQUIT, SIGUSR1, SIGUSR2, SIGXCPU, SIGPWR, SIGALRM})
    signals.add(signal);
  if (!is_ignored(SIGHUP)) signals.add(SIGHUP);
}

bool is_pressing(int signal) {
  return signal == SIGINT || signal == SIGTERM;
}

}  // namespace scavenger::elastic
