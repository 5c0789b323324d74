#include "runtime/data/data_set.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <functional>

#include "runtime/base/error.h"
#include "runtime/data/file_lock.h"
#include "test/support/temporary_folder.h"
#include "test/unit/runtime/data/data_files.h"

namespace scavenger {

using Catch::Contains;

namespace {

// A configuration of three 2x2 images for training, and a cache of its own.
struct SmallJob {
  TemporaryFolder folder;
  std::filesystem::path cache = folder.path() / "cache";
  DataConfig config;

  SmallJob() {
    config.classes = 3;
    config.train = write_small_idx(folder.path());
  }
  DataSet open() const { return DataSet::open(config, Split::kTrain, cache); }
  std::vector<std::filesystem::path> prepared_files() const {
    std::vector<std::filesystem::path> files;
    for (const auto& entry : std::filesystem::directory_iterator(cache))
      if (entry.path().extension() != ".lock") files.push_back(entry.path());
    return files;
  }
};

// Runs `action` in a process of its own and returns its exit status.
int run_in_child(const std::function<int()>& action) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(action());
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// Sets an environment variable, or removes it, until the end of the scope.
class ScopedVariable final {
 public:
  ScopedVariable(const char* name, const char* value) : name_(name) {
    if (const char* old = std::getenv(name)) old_ = old;
    if (value != nullptr)
      ::setenv(name, value, 1);
    else
      ::unsetenv(name);
  }
  ~ScopedVariable() {
    if (old_)
      ::setenv(name_, old_->c_str(), 1);
    else
      ::unsetenv(name_);
  }

 private:
  const char* name_;
  std::optional<std::string> old_;
};

}  // namespace

TEST_CASE("What was prepared is for its owner only, also where it was made for all to read") {
  using std::filesystem::perms;
  const auto rights_of = [](const std::filesystem::path& path) {
    return std::filesystem::status(path).permissions();
  };
  const mode_t before = ::umask(0022);
  const SmallJob job;

  job.open();
  const std::filesystem::path prepared = job.prepared_files().at(0);
  CHECK(rights_of(job.cache) == perms::owner_all);
  CHECK(rights_of(prepared) == (perms::owner_read | perms::owner_write));

  std::filesystem::permissions(job.cache, perms{0755});
  std::filesystem::permissions(prepared, perms{0644});
  CHECK_FALSE(job.open().was_prepared_now());
  CHECK(rights_of(job.cache) == perms::owner_all);
  CHECK(rights_of(prepared) == (perms::owner_read | perms::owner_write));

  // A folder that the user has named may be for other things too: only the file is changed.
  const ScopedVariable named("SCAVENGER_CACHE_DIR", job.cache.c_str());
  std::filesystem::permissions(job.cache, perms{0755});
  std::filesystem::permissions(prepared, perms{0644});
  job.open();
  CHECK(rights_of(job.cache) == perms{0755});
  CHECK(rights_of(prepared) == (perms::owner_read | perms::owner_write));
  ::umask(before);
}

TEST_CASE("A data set is prepared at the first opening and only mapped at the next") {
  const SmallJob job;

  const DataSet first = job.open();
  const DataSet second = job.open();

  CHECK(first.was_prepared_now());
  CHECK(!second.was_prepared_now());
  CHECK(second.size() == 3);
  CHECK(second.classes() == 3);
  CHECK(second.sample_shape() == std::vector<std::int64_t>{1, 2, 2});
  CHECK(second.feature_type() == FeatureType::kUint8);
  CHECK(second.bytes(1)[0] == 4);
  CHECK(second.bytes(2)[3] == 11);
  CHECK(second.label(0) == 2);
  CHECK(second.label(2) == 1);
}

TEST_CASE("A data set of floats keeps their bits") {
  SmallJob job;
  job.config.train = write_csv(job.folder.path(), "0.1,-2e-30,0\n3,4,2\n");

  const DataSet data = job.open();

  CHECK(data.feature_type() == FeatureType::kFloat32);
  CHECK(data.floats(0)[0] == 0.1f);
  CHECK(data.floats(0)[1] == -2e-30f);
  CHECK(data.floats(1)[1] == 4.0f);
  CHECK(data.label(1) == 2);
}

TEST_CASE("A changed source is prepared again, in the place of the old version") {
  const SmallJob job;
  const DataSet old = job.open();
  const auto written = std::filesystem::last_write_time(job.config.train.labels);

  write_file_atomically(job.config.train.labels, idx_content({3}, {0, 0, 0}));
  std::filesystem::last_write_time(job.config.train.labels, written + std::chrono::nanoseconds(1));
  const DataSet changed = job.open();

  CHECK(changed.was_prepared_now());
  CHECK(changed.label(0) == 0);
  CHECK(old.label(0) == 2);  // whoever has mapped the old version keeps it
  CHECK(job.prepared_files().size() == 1);
}

TEST_CASE("Settings that change the content have prepared files of their own") {
  SmallJob job;
  job.open();

  job.config.classes = 5;
  CHECK(job.open().was_prepared_now());
  job.config.classes = 3;
  CHECK(!job.open().was_prepared_now());
  CHECK(job.prepared_files().size() == 2);
}

TEST_CASE("A damaged prepared file is made again") {
  const SmallJob job;
  job.open();
  const std::filesystem::path path = job.prepared_files().at(0);
  const std::string whole = read_file(path);
  const auto reopen_after = [&](const std::string& content) {
    write_file_atomically(path, content);
    return job.open();
  };

  for (std::size_t i = 0; i < 144; ++i) {  // the header
    std::string damaged = whole;
    damaged[i] ^= 0x10;
    REQUIRE(reopen_after(damaged).was_prepared_now());
  }
  CHECK(reopen_after("").was_prepared_now());
  CHECK(reopen_after(whole.substr(0, whole.size() - 1)).was_prepared_now());
  CHECK(reopen_after(whole + "x").was_prepared_now());
  CHECK(!reopen_after(whole).was_prepared_now());
  CHECK(read_file(path) == whole);
}

TEST_CASE("What a process left behind when it died in the middle of preparing does no harm") {
  const SmallJob job;
  job.open();
  const std::filesystem::path path = job.prepared_files().at(0);
  std::filesystem::rename(path, path.string() + ".tmp");

  const DataSet data = job.open();

  CHECK(data.was_prepared_now());
  CHECK(job.prepared_files() == std::vector<std::filesystem::path>{path});
}

TEST_CASE("Of many processes that open a new data set at once, one prepares it") {
  const SmallJob job;
  constexpr int kProcesses = 8;
  int gate[2];
  REQUIRE(::pipe(gate) == 0);
  std::vector<pid_t> children;
  for (int i = 0; i < kProcesses; ++i) {
    const pid_t child = ::fork();
    if (child == 0) {
      ::close(gate[1]);
      char byte;
      if (::read(gate[0], &byte, 1) != 0) ::_exit(9);  // until the parent closes its end
      try {
        const DataSet data = job.open();
        ::_exit(data.size() == 3 && data.label(0) == 2 ? data.was_prepared_now() : 8);
      } catch (...) {
        ::_exit(7);
      }
    }
    children.push_back(child);
  }

  ::close(gate[1]);
  std::vector<int> codes;
  for (const pid_t child : children) {
    int status = 0;
    ::waitpid(child, &status, 0);
    codes.push_back(WIFEXITED(status) ? WEXITSTATUS(status) : -1);
  }
  ::close(gate[0]);

  CHECK(std::count(codes.begin(), codes.end(), 1) == 1);
  CHECK(std::count(codes.begin(), codes.end(), 0) == kProcesses - 1);
}

TEST_CASE("A process that is killed while it holds the lock gives it back") {
  const SmallJob job;
  std::filesystem::create_directories(job.cache);
  const std::filesystem::path lock_path = job.cache / "x.lock";

  const int status = run_in_child([&] {
    const FileLock lock(lock_path);
    ::raise(SIGKILL);
    return 0;
  });
  const FileLock lock(lock_path);

  CHECK(status == -1);
}

TEST_CASE("A failed preparation leaves no prepared file") {
  const SmallJob job;
  write_file_atomically(job.config.train.labels, idx_content({3}, {0, 3, 0}));

  CHECK_THAT(data_error_of([&] { job.open(); }), Contains("label 3"));

  CHECK(job.prepared_files().empty());
}

TEST_CASE("A cache without room is an error with a remedy, and nothing is left behind") {
  const SmallJob job;

  // A limit on the size of files stands for a full disk; in a process of its own, because it stays.
  const int code = run_in_child([&] {
    const rlimit limit{.rlim_cur = 100, .rlim_max = 100};
    ::signal(SIGXFSZ, SIG_IGN);
    ::setrlimit(RLIMIT_FSIZE, &limit);
    try {
      job.open();
    } catch (const SystemError& error) {
      return error.problem().remedy.find("SCAVENGER_CACHE_DIR") != std::string::npos ? 1 : 2;
    }
    return 3;
  });

  CHECK(code == 1);
  CHECK(job.prepared_files().empty());
}

TEST_CASE("A source that is missing or a folder is named with its place in the configuration") {
  SmallJob job;

  job.config.train.labels = job.folder.path() / "absent";
  CHECK_THAT(data_error_of([&] { job.open(); }),
             Contains("absent") && Contains("No such file") && Contains("data.train"));

  job.config.train.labels = job.folder.path();
  CHECK_THAT(data_error_of([&] { job.open(); }), Contains("not a regular file"));
}

TEST_CASE("A cache folder that cannot be made is an error with a remedy") {
  SmallJob job;
  job.cache = job.config.train.labels / "cache";  // below a file

  CHECK_THROWS_AS(job.open(), SystemError);
  CHECK_THROWS_WITH(job.open(), Contains(job.cache.string()) && Contains("SCAVENGER_CACHE_DIR"));
}

TEST_CASE("The configured shape replaces the one of the file, and must have as many values") {
  SmallJob job;

  job.config.sample_shape = {4};
  CHECK(job.open().sample_shape() == std::vector<std::int64_t>{4});

  job.config.sample_shape = {1, 3, 2};
  CHECK_THAT(data_error_of([&] { job.open(); }),
             Contains("data.sample_shape") && Contains("[1, 2, 2]") && Contains("[1, 3, 2]"));
}

TEST_CASE("Normalisation must have one number for all channels or one for each") {
  SmallJob job;

  job.config.normalise = NormaliseConfig{.mean = {0.0}, .standard_deviation = {1.0}};
  CHECK(job.open().size() == 3);

  job.config.normalise =
      NormaliseConfig{.mean = {0.0, 0.0, 0.0}, .standard_deviation = {1.0, 1.0, 1.0}};
  CHECK_THAT(data_error_of([&] { job.open(); }),
             Contains("data.normalise") && Contains("3 means") && Contains("1 channel"));
}

TEST_CASE("Only images can be augmented") {
  SmallJob job;
  job.config.sample_shape = {4};
  job.config.augment.flip = true;

  CHECK_THAT(data_error_of([&] { job.open(); }), Contains("data.augment") && Contains("[4]"));
}

TEST_CASE("Two splits must have samples of the same shape") {
  SmallJob job;
  job.config.test = write_csv(job.folder.path(), "1,2,0\n");
  const DataSet train = job.open();
  const DataSet test = DataSet::open(job.config, Split::kTest, job.cache);

  check_splits_fit(train, train);
  CHECK_THAT(data_error_of([&] { check_splits_fit(train, test); }),
             Contains("data.test") && Contains("[1, 2, 2]") && Contains("[2]"));
}

TEST_CASE("The cache folder is our own variable's, else the user's caches', else below home") {
  const ScopedVariable home("HOME", "/home/someone");
  const ScopedVariable no_caches("XDG_CACHE_HOME", nullptr);
  const ScopedVariable no_own("SCAVENGER_CACHE_DIR", nullptr);
  CHECK(default_cache_folder() == "/home/someone/.cache/scavenger");

  const ScopedVariable caches("XDG_CACHE_HOME", "/var/caches");
  CHECK(default_cache_folder() == "/var/caches/scavenger");

  const ScopedVariable own("SCAVENGER_CACHE_DIR", "/data/prepared");
  CHECK(default_cache_folder() == "/data/prepared");
}

TEST_CASE("Without a home there is no cache folder, and the error says what to set") {
  const ScopedVariable no_home("HOME", nullptr);
  const ScopedVariable no_caches("XDG_CACHE_HOME", nullptr);
  const ScopedVariable no_own("SCAVENGER_CACHE_DIR", nullptr);

  CHECK_THROWS_WITH(default_cache_folder(), Contains("SCAVENGER_CACHE_DIR"));
}

}  // namespace scavenger
