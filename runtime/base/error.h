// The small family of exceptions for everything that a user, a peer, a disk or a cloud can cause.
//
// Each says what was wrong, where, and what to do about it. They are caught at process and
// connection boundaries only. A programming error is not an exception: see check.h.
#pragma once

#include <stdexcept>
#include <string>

namespace scavenger {

// The three parts of a good error message. `where` and `remedy` may be empty.
struct Problem {
  std::string what;    // "the batch size is 0"
  std::string where;   // "configs/mlp.json:12: batch_size"
  std::string remedy;  // "use a number from 1 to 1048576"
};

class Error : public std::runtime_error {
 public:
  explicit Error(Problem problem);
  const Problem& problem() const noexcept { return problem_; }

 private:
  Problem problem_;
};

// What the user gave is wrong: configuration, command line, data files, run folder. Exit code 2,
// nothing was started.
class InputError : public Error {
  using Error::Error;
};

class ConfigError final : public InputError {
  using InputError::InputError;
};

class DataError final : public InputError {
  using InputError::InputError;
};

class CheckpointError final : public InputError {
  using InputError::InputError;
};

// The operating system refused: files, sockets, processes.
class SystemError final : public Error {
 public:
  explicit SystemError(Problem problem);
  // Adds the text of `error_number` (an errno value) to `problem.what`.
  SystemError(int error_number, Problem problem);
};

// A peer is gone, late, or not who it should be.
class ConnectionError : public Error {
  using Error::Error;
};

// A peer said something that the protocol does not allow.
class ProtocolError final : public ConnectionError {
  using ConnectionError::ConnectionError;
};

// The job cannot go on: a process died, no cluster to be had, the loss is not a number. Exit
// code 1.
class JobError final : public Error {
  using Error::Error;
};

}  // namespace scavenger
