#include "runtime/base/error.h"

#include <cstring>
#include <utility>

namespace scavenger {
namespace {

std::string sentence(const Problem& problem) {
  std::string text;
  if (!problem.where.empty()) text += problem.where + ": ";
  text += problem.what;
  if (!problem.remedy.empty()) text += "; " + problem.remedy;
  return text;
}

Problem with_errno(int error_number, Problem problem) {
  problem.what += std::string(": ") + std::strerror(error_number);
  return problem;
}

}  // namespace

Error::Error(Problem problem)
    : std::runtime_error(sentence(problem)), problem_(std::move(problem)) {}

SystemError::SystemError(Problem problem) : Error(std::move(problem)) {}

SystemError::SystemError(int error_number, Problem problem)
    : Error(with_errno(error_number, std::move(problem))) {}

}  // namespace scavenger
