#include "runtime/provider/emulated/emulated_provider.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>

#include "runtime/base/file.h"
#include "runtime/provider/emulated/cpu_share.h"
#include "test/unit/runtime/provider/conformance.h"

using namespace scavenger;

namespace {

EmulatedSettings two_small_machines() {
  EmulatedSettings settings;
  settings.types = {{.name = "small",
                     .cores = 0.25,
                     .link_megabits = 400.0,
                     .price_per_hour = 0.2,
                     .spot_price_per_hour = 0.05,
                     .start_seconds = 0.0,
                     .count = 2}};
  return settings;
}

// Why there can be none here; empty where they can.
std::string missing() {
  if (::geteuid() != 0) return "emulated machines need root";
  if (std::system("command -v ip >/dev/null && command -v tc >/dev/null") != 0)
    return "there are no programs ip and tc (iproute2)";
  if (cpu_share_root().empty()) return "there are no control groups with CPU quotas";
  return {};
}

const SteadyClock clock_of_test;

ProviderTrial::Make maker(const EmulatedSettings& settings) {
  return [settings](asio::io_context& io) {
    return std::make_unique<EmulatedProvider>(io, clock_of_test, settings);
  };
}

bool anything_is_left() {
  const std::string mark = EmulatedNames(::getpid(), 0).mark();
  for (const auto& entry : std::filesystem::directory_iterator("/run/netns"))
    if (entry.path().filename().string().starts_with(mark)) return true;
  return std::filesystem::exists(cpu_share_root() / mark) ||
         std::filesystem::exists("/sys/class/net/" + EmulatedNames(::getpid(), 0).bridge());
}

#define SKIP_WHERE_MISSING()                             \
  if (const std::string why = missing(); !why.empty()) { \
    WARN("skipped: " << why);                            \
    return;                                              \
  }

}  // namespace

TEST_CASE("the same seed gives the same lives, and a schedule comes first") {
  PreemptionSettings settings;
  settings.mean_life_seconds = 100.0;
  settings.notice_seconds = 5.0;
  settings.notice_share = 0.5;
  settings.schedule = {{1, 7.0, 2.0}};
  PreemptionPlan one(settings), other(settings);

  double sum = 0.0;
  int told = 0;
  for (int i = 0; i < 2000; ++i) {
    const auto fate = one.next(0, true);
    const auto same = other.next(0, true);
    REQUIRE(fate);
    CHECK(fate->life_seconds == same->life_seconds);
    CHECK(fate->notice_seconds == same->notice_seconds);
    sum += fate->life_seconds;
    told += fate->notice_seconds > 0.0 ? 1 : 0;
  }
  CHECK(sum / 2000 == Approx(100.0).epsilon(0.1));
  CHECK(told == Approx(1000).epsilon(0.1));
  CHECK(one.next(1, true)->life_seconds == 7.0);
  CHECK(one.next(1, true)->life_seconds != 7.0);  // once
  CHECK_FALSE(one.next(0, false));                // on demand
}

TEST_CASE("emulated: machines live as a table says") {
  PreemptionSettings settings;
  settings.lifetimes = {{10.0, 0.2}, {100.0, 0.2}, {100.0, 0.5}, {200.0, 0.9}};
  PreemptionPlan plan(settings);
  int early = 0, at_step = 0, later = 0, never = 0;
  for (int i = 0; i < 4000; ++i) {
    const auto fate = plan.next(0, true);
    if (!fate)
      ++never;
    else if (fate->life_seconds < 10.0)
      ++early;
    else if (fate->life_seconds == 100.0)
      ++at_step;
    else if (fate->life_seconds > 100.0 && fate->life_seconds < 200.0)
      ++later;
  }
  CHECK(early == Approx(800).margin(100));
  CHECK(at_step == Approx(1200).margin(120));
  CHECK(later == Approx(1600).margin(130));
  CHECK(early + at_step + later + never == 4000);
  CHECK_FALSE(plan.next(0, false));
}

TEST_CASE("emulated: machines of one type differ as they are told to") {
  const MachineSpeeds speeds{.spread = 0.05, .seed = 3, .slow = {{.machine = 4, .speed = 0.7}}};
  MachineSpeeds alike = speeds;
  alike.slow.clear();
  double squares = 0.0;
  for (std::uint64_t machine = 0; machine < 1000; ++machine) {
    const double speed = emulated_speed(alike, machine);
    CHECK(emulated_speed(speeds, machine) == Approx(machine == 4 ? 0.7 * speed : speed));
    squares += std::pow(std::log(speed), 2.0);
  }
  CHECK(std::sqrt(squares / 1000.0) == Approx(0.05).epsilon(0.1));
  CHECK(emulated_speed({}, 4) == 1.0);
}

TEST_CASE("emulated: a table of lifetimes that falls is refused, and so are two rules") {
  const auto read = [](const std::string& preemption) {
    ProviderConfig config;
    config.type = ProviderType::kEmulated;
    config.settings =
        R"({"type":"emulated","machines":[],"quota_period_milliseconds":5,)"
        R"("preemption":{"notice_seconds":0,"notice_share":1,"seed":1,"schedule":[],)" +
        preemption + "}}";
    return emulated_settings(config).preemption.lifetimes.size();
  };
  CHECK(read(R"("mean_life_seconds":0,"lifetimes":[[5,0.1],[9,1]])") == 2);
  CHECK(read(R"("mean_life_seconds":0)") == 0);  // of a run folder that is older than the key
  CHECK_THROWS_AS(read(R"("mean_life_seconds":0,"lifetimes":[[5,0.4],[9,0.3]])"), ConfigError);
  CHECK_THROWS_AS(read(R"("mean_life_seconds":0,"lifetimes":[[5,0.4],[4,0.5]])"), ConfigError);
  CHECK_THROWS_AS(read(R"("mean_life_seconds":0,"lifetimes":[[5,1.1]])"), ConfigError);
  CHECK_THROWS_AS(read(R"("mean_life_seconds":6,"lifetimes":[[5,1]])"), ConfigError);
}

TEST_CASE("emulated: types of which there is no machine are refused") {
  ProviderConfig config;
  config.type = ProviderType::kEmulated;
  const auto read = [&](int count) {
    config.settings = fmt::format(
        R"({{"machines":[{{"type":"a","cores":1,"link_megabits":1,"price_per_hour":0,)"
        R"("spot_price_per_hour":0,"start_seconds":0,"count":{}}}],"quota_period_milliseconds":5,)"
        R"("preemption":{{"mean_life_seconds":0,"notice_seconds":0,"notice_share":1,"seed":1,)"
        R"("schedule":[]}}}})",
        count);
    return emulated_settings(config).types.size();
  };
  CHECK(read(1) == 1);
  CHECK_THROWS_WITH(read(0), Catch::Contains("there is no machine of any type"));
}

TEST_CASE("emulated: the contract of providers") {
  SKIP_WHERE_MISSING();
  EmulatedSettings settings = two_small_machines();
  settings.types.front().count = 4;
  check_conformance(maker(settings));
  CHECK_FALSE(anything_is_left());
}

TEST_CASE("emulated: where all machines are taken the next is refused, and may be had later") {
  SKIP_WHERE_MISSING();
  ProviderTrial trial(maker(two_small_machines()));
  trial.ready(1, 0);
  trial.ready(2, 1);
  trial.request(3, 2);
  trial.run_until([&] { return !trial.words(3).empty(); });

  CHECK(trial.words(3) == Words{"refused"});
  CHECK(trial.diary().refusals.at(3).kind == RefusalKind::kCapacity);
  CHECK(trial.diary().refusals.at(3).retry_after_seconds);
  trial.request(4, 2, false, "huge");
  trial.run_until([&] { return !trial.words(4).empty(); });
  CHECK(trial.diary().refusals.at(4).kind == RefusalKind::kInvalid);
  CHECK_FALSE(trial.diary().refusals.at(4).retry_after_seconds);
  trial.release(1);
  trial.run_until([&] { return trial.words(1).size() == 2; });
  trial.ready(5, 2);
}

TEST_CASE("emulated: types are taken in their order, as far as there are machines") {
  SKIP_WHERE_MISSING();
  EmulatedSettings settings = two_small_machines();
  settings.types.front().count = 1;
  settings.types.push_back(settings.types.front());
  settings.types.back().name = "large";
  ProviderTrial trial(maker(settings));
  CHECK(trial.ready(1, 0).type == "small");
  CHECK(trial.ready(2, 1).type == "large");
  trial.request(3, 2);
  trial.run_until([&] { return !trial.words(3).empty(); });
  CHECK(trial.diary().refusals.at(3).kind == RefusalKind::kCapacity);
  trial.release(1);
  trial.run_until([&] { return trial.words(1).size() == 2; });
  CHECK(trial.ready(4, 2).type == "small");
}

TEST_CASE("emulated: machines reach each other and the controller, by their addresses") {
  SKIP_WHERE_MISSING();
  ProviderTrial trial(maker(two_small_machines()));
  const Machine a = trial.ready(1, 0);
  const Machine b = trial.ready(2, 1);
  const auto reaches = [&](const Machine& from, const std::string& address) {
    const std::string script = fmt::format(
        "ip route get {} >/dev/null && cat /proc/net/route >/dev/null && "
        "ip neigh flush all; ping -c1 -W2 {} >/dev/null 2>&1 || "
        "python3 -c 'import socket,sys;s=socket.socket();s.settimeout(2);"
        "sys.exit(0 if s.connect_ex((\"{}\",9)) == 111 else 1)'",
        address, address, address);  // refused: somebody is there
    return trial.run_there(from, {"sh", "-c", script}).succeeded();
  };

  CHECK(reaches(a, b.address));
  CHECK(reaches(b, a.address));
  CHECK(reaches(a, trial.provider().controller_address()));
  CHECK_FALSE(reaches(a, "10.255.255.1"));
}

TEST_CASE("emulated: the switch keeps its hardware address when machines come and go") {
  SKIP_WHERE_MISSING();
  ProviderTrial trial(maker(two_small_machines()));
  const auto address = [] {
    return read_file("/sys/class/net/" + EmulatedNames(::getpid(), 0).bridge() + "/address");
  };
  const std::string before = address();
  trial.ready(1, 0);
  trial.ready(2, 1);
  CHECK(address() == before);
  trial.release(1);
  trial.release(2);
  trial.run_until([&] { return trial.words(1).size() + trial.words(2).size() == 4; });
  CHECK(address() == before);
}

TEST_CASE("emulated: a machine has its share of the processors, and no more") {
  SKIP_WHERE_MISSING();
  ProviderTrial trial(maker(two_small_machines()));
  const Machine machine = trial.ready(1, 0);

  const CommandResult result =
      trial.run_there(machine, {"python3", "-c",
                                "import time\n"
                                "begin, cpu = time.monotonic(), time.process_time()\n"
                                "while time.monotonic() - begin < 1.0: pass\n"
                                "print((time.process_time() - cpu) / (time.monotonic() - begin))"});

  INFO(result.output);
  REQUIRE(result.succeeded());
  const double share = std::stod(result.output);
  CHECK(share < 0.35);  // of one processor; a busy machine gives less, never more
  CHECK(share > 0.01);
}

TEST_CASE("emulated: a spot machine is taken with notice and without, and its processes with it") {
  SKIP_WHERE_MISSING();
  EmulatedSettings settings = two_small_machines();
  settings.preemption.schedule = {{0, 0.6, 0.4}, {1, 0.6, 0.0}};
  ProviderTrial trial(maker(settings));
  const Machine first = trial.ready(1, 0, true);
  CHECK(first.spot);
  CHECK(first.price.per_hour == 0.05);
  const CommandResult killed = trial.run_there(first, {"sleep", "1000"});
  CHECK(killed.status.signal == 9);
  trial.run_until([&] { return trial.words(1).size() == 3; });
  CHECK(trial.words(1) == Words{"ready", "notice", "lost"});

  trial.ready(2, 1, true);
  trial.run_until([&] { return trial.words(2).size() == 2; });
  CHECK(trial.words(2) == Words{"ready", "lost"});
  trial.release(1);  // too late
  trial.end();
  CHECK(trial.words(1).size() == 3);
  CHECK_FALSE(anything_is_left());
}

TEST_CASE("emulated: nothing is left where the provider goes without a word") {
  SKIP_WHERE_MISSING();
  {
    asio::io_context io;
    ProviderDiary diary;
    EmulatedProvider provider(io, clock_of_test, two_small_machines());
    provider.begin(diary, [&](const std::optional<Refusal>&) { provider.request(1, {}); });
    while (diary.words.empty()) io.run_one();
    CHECK(anything_is_left());
  }
  CHECK_FALSE(anything_is_left());
}
