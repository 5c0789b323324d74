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

// The user's input is wrong: configuration, command line, data files, run folder. The program ends
// with exit code 2 and has started nothing.
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

// The operating system refused an operation on files, sockets or processes.
class SystemError final : public Error {
 public:
  explicit SystemError(Problem problem);
  // Adds the text of `error_number` (an errno value) to `problem.what`.
  SystemError(int error_number, Problem problem);
};

// A peer is gone, late, or not the process that it should be.
class ConnectionError : public Error {
  using Error::Error;
};

// A peer sent something that the protocol does not allow.
class ProtocolError final : public ConnectionError {
  using ConnectionError::ConnectionError;
};

// The job cannot continue: for instance a process died, no cluster is available, or the loss is not
// a number. The program ends with exit code 1.
class JobError final : public Error {
  using Error::Error;
};

}  // namespace scavenger
