// The signals that ask a job to end.
#pragma once

#include <boost/asio/signal_set.hpp>

namespace scavenger::elastic {

// Adds each signal that would end this process if nobody cared: after Ctrl-C, kill, a terminal that
// is closed, a limit of processor time, the warning of a batch system. Not SIGHUP if it is
// ignored, as by nohup.
void add_end_signals(boost::asio::signal_set& signals);

// Whether such a signal, sent again, means "at once": a closed terminal and service managers send
// others a second time by themselves.
bool is_pressing(int signal);

}  // namespace scavenger::elastic
