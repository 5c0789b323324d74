#include "runtime/provider/rental_journal.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <span>
#include <utility>

#include "runtime/base/error.h"
#include "runtime/base/json_text.h"
#include "runtime/base/random.h"

namespace scavenger {
namespace {

constexpr std::size_t kNameCharacters = 25;  // of the job's own name; with the rest below 63

std::string plain_name(std::string_view text) {
  std::string name;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) != 0 && byte < 128)
      name += static_cast<char>(std::tolower(byte));
    else if (!name.empty() && name.back() != '-')
      name += '-';
  }
  if (name.empty() || std::isalpha(static_cast<unsigned char>(name.front())) == 0)
    name.insert(0, "job-");
  if (name.size() > kNameCharacters) name.resize(kNameCharacters);
  while (name.ends_with('-')) name.pop_back();
  return name;
}

std::vector<nlohmann::json> objects_in(const std::string& text) {
  std::vector<nlohmann::json> objects;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    auto line = try_parse_json(text.substr(begin, end - begin));
    begin = end + 1;
    if (line && line->is_object()) objects.push_back(std::move(*line));
  }
  return objects;
}

}  // namespace

std::string rented_job_id(std::string_view job_name, std::uint32_t nonce) {
  return fmt::format("{}-{:08x}", plain_name(job_name), nonce);
}

RentalJournal::RentalJournal(const std::filesystem::path& path, const std::string& job_name)
    : path_(path) {
  std::filesystem::create_directories(path_.parent_path());
  const bool is_new = !std::filesystem::exists(path_);
  if (!is_new) earlier_ = objects_in(read_file(path_));
  for (const nlohmann::json& line : earlier_)
    if (const auto job = line.find("job"); job != line.end() && job->is_string())
      job_id_ = job->get<std::string>();
  file_ = FileDescriptor(::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
  if (file_.get() < 0)
    throw SystemError(errno, {.what = "cannot write", .where = path_, .remedy = {}});
  if (!is_new) write("\n");  // ends a line that a crash has cut off
  if (!job_id_.empty()) return;
  std::uint32_t nonce = 0;
  fill_with_secret_bytes(std::as_writable_bytes(std::span(&nonce, 1)));
  job_id_ = rented_job_id(job_name, nonce);
  append(nlohmann::json{{"job", job_id_}});
  sync_to_disk(path_.parent_path());
}

void RentalJournal::append(const nlohmann::json& line) {
  write(json_text(line) + "\n");
}

void RentalJournal::write(std::string text) {
  const auto written = ::write(file_.get(), text.data(), text.size());
  if (written != static_cast<ssize_t>(text.size()) || ::fdatasync(file_.get()) != 0)
    throw SystemError(errno, {.what = "cannot write which machines are asked for",
                              .where = path_,
                              .remedy = "nothing was asked; make room on this disk"});
}

}  // namespace scavenger
