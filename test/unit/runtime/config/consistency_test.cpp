// Values that are each possible, and together are not. Through load_job_config(), so that the place
// in the file is tested as well.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "test/unit/runtime/config/config_folder.h"

namespace scavenger {
namespace {

struct Contradiction {
  std::vector<std::string> overrides;  // applied to kValidConfig
  std::string where, what, remedy;
};

void check_problem(const Contradiction& example) {
  CAPTURE(example.overrides);
  const ConfigFolder folder;

  const Problem problem = folder.problem(kValidConfig, example.overrides);

  CHECK_THAT(problem.where, Catch::EndsWith(example.where));
  CHECK_THAT(problem.what, Catch::Contains(example.what));
  CHECK_THAT(problem.remedy, Catch::Contains(example.remedy));
}

TEST_CASE("More workers than samples in a batch are refused") {
  check_problem(GENERATE(Contradiction{{"cluster.workers=33"},
                                       "--set cluster.workers=33",
                                       "33 workers cannot share a batch of 32",
                                       "at most 32 workers"},
                         Contradiction{{"batch_size=1"},
                                       "job.json:11: cluster.workers",
                                       "2 workers cannot share a batch of 1",
                                       "or a larger batch_size"}));
}

TEST_CASE("A layer that no worker has the memory for is refused") {
  check_problem(Contradiction{{"model={\"type\": \"mlp\", \"hidden\": [1000000, 1000000]}"},
                              "model.hidden",
                              "a layer of 1000000 x 1000000 weights would take 3.6 TiB",
                              "narrower layers"});
}

TEST_CASE("As many workers as samples in a batch are accepted") {
  const ConfigFolder folder;

  CHECK(folder.load(kValidConfig, {"cluster.workers=32"}).cluster.workers == 32);
}

TEST_CASE("Bounds of shares that B and K leave no room for are refused") {
  check_problem(
      GENERATE(Contradiction{{"batching.dynamic=true", "batching.smallest_share=17"},
                             "--set batching.smallest_share=17",
                             "2 workers with 17 samples each are more than the batch of 32",
                             "use at most 16"},
               Contradiction{{"batching.dynamic=true", "batching.largest_share=15"},
                             "--set batching.largest_share=15",
                             "may take 30 samples together, and the batch has 32",
                             "raise it"}));
}

TEST_CASE("A host's own bound of a share holds in place of the job's") {
  const ConfigFolder folder;
  const std::vector<std::string> one_large_host = {
      "batching.dynamic=true", "batching.largest_share=15",
      R"(cluster.hosts=[{"name":"a","address":"127.0.0.1","largest_share":17},
                        {"name":"b","address":"127.0.0.1"}])"};

  CHECK(folder.load(kValidConfig, one_large_host).batching.largest_share == 15);
}

TEST_CASE("Shards whose ports go past the last port are refused") {
  check_problem({{"ps.port=65534", "ps.shards=3"},
                 "--set ps.port=65534",
                 "3 shards from port 65534 on go past port 65535",
                 "use at most 65533"});
}

TEST_CASE("A controller at the port of a shard is refused") {
  check_problem({{"cluster.port=6001", "ps.port=6000", "ps.shards=2"},
                 "--set cluster.port=6001",
                 "port 6001 is that of shard 1 as well",
                 "6000 to 6001 belong to the shards"});
  const ConfigFolder folder;
  const JobConfig config =
      folder.load(kValidConfig, {"cluster.port=6002", "ps.port=6000", "ps.shards=2"});
  CHECK(config.cluster.port == 6002);
}

TEST_CASE("Shared memory with several shards or a port is refused") {
  check_problem(GENERATE(Contradiction{{"sync.transport=shared_memory", "ps.shards=2"},
                                       "--set sync.transport=shared_memory",
                                       "there is one shard",
                                       "use tcp"},
                         Contradiction{{"sync.transport=shared_memory", "ps.port=5000"},
                                       "--set sync.transport=shared_memory",
                                       "it has no port",
                                       "use tcp"}));
}

TEST_CASE("Rounding what nobody sends is refused") {
  check_problem({{"sync.wire_precision=bfloat16"},
                 "--set sync.wire_precision=bfloat16",
                 "in shared memory nothing is sent",
                 "sync.transport to tcp"});
}

TEST_CASE("Adding up host by host where nothing is sent is refused") {
  check_problem(GENERATE(Contradiction{{"sync.hierarchy=on"},
                                       "--set sync.hierarchy=on",
                                       "in shared memory all workers are on one host",
                                       "sync.transport to tcp"},
                         Contradiction{{"sync.strategy=gloo", "sync.hierarchy=off"},
                                       "--set sync.hierarchy=off",
                                       "only workers of the parameter server",
                                       "leave it at auto"}));
}

TEST_CASE("A precision that the device does not have is refused") {
  check_problem({{"device=cpu", "compute.precision=tf32"},
                 "--set compute.precision=tf32",
                 "tf32 is of GPUs",
                 "device to auto or cuda"});
}

TEST_CASE("All-reduce that cannot be, or would send in clear, is refused") {
  const std::string hosts = R"(cluster.hosts=[{"name":"a","address":"10.0.0.2","workers":4}])";
  const std::string listen = "cluster.listen_address=10.0.0.1";
  check_problem(GENERATE_COPY(Contradiction{{"sync.strategy=gloo", hosts, listen},
                                            "--set sync.strategy=gloo",
                                            "gloo does not encrypt",
                                            "sync.allow_plaintext to true"},
                              Contradiction{{"sync.strategy=nccl", "device=cpu"},
                                            "--set sync.strategy=nccl",
                                            "nccl works among GPUs",
                                            "set device to cuda"},
                              Contradiction{{"sync.strategy=gloo", "sync.wire_precision=bfloat16"},
                                            "--set sync.wire_precision=bfloat16",
                                            "gloo sends float32 only",
                                            "leave it at float32"}));
  const ConfigFolder folder;
  CHECK_NOTHROW(folder.load(kValidConfig,
                            {"sync.strategy=gloo", hosts, listen, "sync.allow_plaintext=true"}));
}

TEST_CASE("Hosts on which the job cannot run are refused") {
  const std::string two_hosts =
      R"(cluster.hosts=[{"name":"a","address":"10.0.0.2"},{"name":"b","address":"10.0.0.3"}])";
  const std::string listen = "cluster.listen_address=10.0.0.1";
  check_problem(
      GENERATE_COPY(Contradiction{{two_hosts, listen, "cluster.workers=3"},
                                  "--set " + two_hosts,
                                  "the hosts take 2 workers, and there are 3",
                                  "add a host"},
                    Contradiction{{two_hosts},
                                  "cluster.listen_address",
                                  "host \"a\" (10.0.0.2) cannot reach the controller at 127.0.0.1",
                                  "this machine's address"},
                    Contradiction{{two_hosts, listen, "sync.transport=shared_memory"},
                                  "--set sync.transport=shared_memory",
                                  "hosts share no memory",
                                  "tcp"},
                    Contradiction{{two_hosts, listen, "cluster.hosts.1.name=a"},
                                  "--set cluster.hosts.1.name=a",
                                  "two hosts \"a\"",
                                  "a name of its own"},
                    Contradiction{{two_hosts, listen, "cluster.hosts.1.address=127.0.0.1"},
                                  "--set cluster.hosts.1.address=127.0.0.1",
                                  "cannot reach host \"b\" at 127.0.0.1",
                                  "cluster.listen_address"},
                    Contradiction{{two_hosts, listen, "cluster.hosts.0.address=vm0"},
                                  "--set cluster.hosts.0.address=vm0",
                                  "\"vm0\" is not an address",
                                  "10.0.0.7"},
                    Contradiction{{two_hosts, "cluster.listen_address=0.0.0.0"},
                                  "--set cluster.listen_address=0.0.0.0",
                                  "\"0.0.0.0\" is not an address",
                                  "10.0.0.7"}));
}

TEST_CASE("Hosts that take all workers and reach each other are accepted") {
  const ConfigFolder folder;
  const auto accepted = [&folder](const std::string& address, const std::string& listen) {
    const JobConfig config =
        folder.load(kValidConfig, {R"(cluster.hosts=[{"name":"a","address":")" + address +
                                       R"(","launch":["ssh","a"],"workers":2}])",
                                   "cluster.listen_address=" + listen});
    return config.cluster.hosts.at(0).launch.size() == 2;
  };

  CHECK(accepted("10.0.0.2", "10.0.0.1"));
  CHECK(accepted("fd00::2", "fd00::1"));
  CHECK(accepted("127.0.0.2", "127.0.0.1"));
}

TEST_CASE("Nesterov's method follows the rule of torch.optim.SGD") {
  check_problem(GENERATE(Contradiction{{"optimizer.nesterov=true"},
                                       "--set optimizer.nesterov=true",
                                       "needs momentum",
                                       "set momentum"},
                         Contradiction{{"optimizer.nesterov=true", "optimizer.momentum=0.9",
                                        "optimizer.dampening=0.1"},
                                       "--set optimizer.dampening=0.1",
                                       "does not go with dampening",
                                       "set dampening to 0"}));
}

TEST_CASE("Schedules whose times contradict each other are refused") {
  check_problem(GENERATE(
      Contradiction{{R"(optimizer.schedule={"type":"step","boundary_epochs":[4,4]})"},
                    ": optimizer.schedule.boundary_epochs",
                    "do not increase",
                    "from the first to the last"},
      Contradiction{
          {R"(optimizer.schedule={"type":"step","boundary_epochs":[2],"warmup_epochs":3})"},
          ": optimizer.schedule.boundary_epochs",
          "within the warm-up of 3 epochs",
          "start later"},
      Contradiction{{R"(optimizer.schedule={"type":"cosine","total_epochs":2,"warmup_epochs":2})"},
                    ": optimizer.schedule.total_epochs",
                    "before the warm-up of 2 epochs",
                    "end later"}));
}

TEST_CASE("A job without an end is refused") {
  check_problem({{"stop={}"}, "--set stop={}", "would never end", "target, max_epochs"});
  check_problem({{R"(stop={"max_cost":1})"},
                 R"(--set stop={"max_cost":1})",
                 "where machines cost nothing",
                 "max_epochs"});
}

TEST_CASE("An accuracy above 1 is refused as a target, and a loss above 1 is not") {
  check_problem({{R"(stop.target={"value":88})"},
                 ": stop.target.value",
                 "an accuracy of 88 cannot be reached",
                 "0.88 for 88 %"});
  const ConfigFolder folder;
  CHECK(folder.load(kValidConfig, {R"(stop.target={"metric":"loss","value":2})"})
            .stop.target->value == 2.0);
}

TEST_CASE("Early stopping is an end, and has its defaults") {
  const ConfigFolder folder;
  const JobConfig config = folder.load(kValidConfig, {R"(stop={"early_stopping":{"patience":3}})"});
  CHECK(config.stop.early_stopping == EarlyStoppingConfig{Metric::kLoss, 3, 0.0});
  CHECK(parse_resolved_config(to_json(config).dump(), "here").stop == config.stop);
}

TEST_CASE("What needs images is refused for other data") {
  const std::string remedy = "set data.sample_shape to [channels, height, width]";
  check_problem(GENERATE_COPY(
      Contradiction{{R"(model={"type":"cnn","channels":[4]})"},
                    ": model.type",
                    "a convolutional network needs images",
                    remedy},
      Contradiction{{R"(model={"type":"resnet18"})"},
                    ": model.type",
                    "a convolutional network needs images",
                    remedy},
      Contradiction{{"data.augment.flip=true"}, "=true", "only images can be flipped", remedy},
      Contradiction{{"data.augment.crop_padding=2"}, "=2", "only images can be cropped", remedy}));
}

TEST_CASE("Flat samples with the shape of an image are images") {
  const ConfigFolder folder;

  const JobConfig config =
      folder.load(kValidConfig, {"data.sample_shape=[3,2,2]", "data.augment.flip=true",
                                 R"(model={"type":"cnn","channels":[4]})"});

  CHECK(config.data.sample_shape == std::vector<std::int64_t>{3, 2, 2});
}

TEST_CASE("A network with more poolings than the image has pixels is refused") {
  check_problem({{"data.sample_shape=[3,2,2]", R"(model={"type":"cnn","channels":[4,4]})"},
                 ": model.channels",
                 "nothing is left of 2 x 2 pixels after 2 times 2x2 pooling",
                 "at most 1 convolutions"});
}

TEST_CASE("Images that are too small for a ResNet18 are refused") {
  check_problem({{"data.sample_shape=[3,2,2]", R"(model={"type":"resnet18"})"},
                 ": model.type",
                 "2 x 2 pixels are too small for a resnet",
                 "at least 9 x 9 pixels"});
}

TEST_CASE("The larger stem of a ResNet needs larger images") {
  check_problem({{"data.sample_shape=[3,32,32]", "data.train.feature_count=3072",
                  "data.test.feature_count=3072", R"(model={"type":"resnet50","stem":"imagenet"})"},
                 ": model.type",
                 "32 x 32 pixels are too small for a resnet",
                 "at least 33 x 33 pixels"});
}

TEST_CASE("Models of text are refused for other data") {
  check_problem(GENERATE(Contradiction{{R"(model={"type":"transformer_tiny"})"},
                                       ": model.type",
                                       "this model needs pairs of sentences",
                                       "use data of format parallel_text"},
                         Contradiction{{R"(model={"type":"language_model"})"},
                                       ": model.type",
                                       "this model needs text",
                                       "use data of format text"}));
}

TEST_CASE("What cannot be frozen or shared out is refused") {
  check_problem({{R"(model={"type":"mlp","hidden":[4],"freeze":["layers.0.*"]})"},
                 ": model.freeze",
                 "parameters would be frozen at random values",
                 "model.start"});
}

TEST_CASE("A sample shape that does not fit the samples is refused") {
  check_problem(GENERATE(
      Contradiction{{"data.sample_shape=[3,4]"},
                    "=[3,4]",
                    "cannot have 2 dimensions",
                    "[channels, height, width] or [features]"},
      Contradiction{
          {"data.sample_shape=[13]"}, "=[13]", "has 13 values, and a sample has 12", "correct it"},
      Contradiction{{"data.sample_shape=[16777216,16777216,16777216]"},
                    "16777216]",
                    "too large",
                    "at most 16777216 values"}));
}

TEST_CASE("Normalisation must fit itself and the channels") {
  check_problem(
      GENERATE(Contradiction{{R"(data.normalise={"mean":[1,2],"standard_deviation":[1]})"},
                             ": data.normalise.standard_deviation",
                             "1 standard deviations do not fit 2 means",
                             "as many"},
               Contradiction{{"data.sample_shape=[3,2,2]",
                              R"(data.normalise={"mean":[1,2],"standard_deviation":[1,1]})"},
                             ": data.normalise.mean",
                             "2 means do not fit 3 channels",
                             "one per channel, or one for all"}));
}

TEST_CASE("Synthetic splits that do not go together are refused") {
  check_problem(GENERATE(
      Contradiction{{"data.test.feature_count=8"},
                    "=8",
                    "test samples have 8 features and training samples 12",
                    "same number"},
      Contradiction{{"data.test.first_sample=999"},
                    "=999",
                    "repeats samples of the training data",
                    "start it at 1000 or later"},
      Contradiction{
          {"batch_size=1001"}, "=1001", "more than the 1000 training samples", "at most 1000"}));
}

TEST_CASE("Test data before the training data do not overlap with it") {
  const ConfigFolder folder;

  CHECK_NOTHROW(
      folder.load(kValidConfig, {"data.test.first_sample=0", "data.train.first_sample=100"}));
}

TEST_CASE("Splits of different formats are refused") {
  check_problem({{R"(data.test={"format":"csv","files":["a.csv"]})"},
                 ": data.test.format",
                 "another format than the training data",
                 "one format"});
}

TEST_CASE("A named label column needs a header line") {
  check_problem({{R"(data.train={"format":"csv","files":["a.csv"],"label_column":"class"})",
                  R"(data.test={"format":"csv","files":["b.csv"],"label_column":3})"},
                 ": data.train.label_column",
                 "column \"class\" is a name, and the files have no header line",
                 "set has_header to true"});
}

TEST_CASE("Losses and targets that do not fit what is predicted are refused") {
  const std::string csv = R"({"format":"csv","files":["/dev/null"]})";
  const std::vector<std::string> values = {"data.train=" + csv, "data.test=" + csv,
                                           "data.classes=null"};
  const auto with = [&](const std::string& override) {
    std::vector<std::string> all = values;
    all.push_back(override);
    return all;
  };
  check_problem(
      GENERATE_COPY(Contradiction{{R"(loss={"type":"mse"})"},
                                  "loss.type",
                                  "this loss compares values",
                                  "use cross_entropy"},
                    Contradiction{with(R"(loss={"type":"cross_entropy"})"), "loss.type",
                                  "needs classes", "set data.classes"},
                    Contradiction{{R"(loss={"type":"model"})"},
                                  "loss.type",
                                  "only a torchscript or plugin model",
                                  "name a loss"},
                    Contradiction{with(R"(stop.target={"metric":"accuracy","value":0.5})"),
                                  "stop.target.metric", "has no accuracy", "use loss or mse"},
                    Contradiction{{R"(stop.early_stopping={"metric":"mse","patience":2})"},
                                  "stop.early_stopping.metric",
                                  "has no mse",
                                  "use accuracy"},
                    Contradiction{{R"(stop.target={"metric":"bleu","value":30})"},
                                  "stop.target.metric",
                                  "has no bleu",
                                  "use accuracy or loss"}));
}

TEST_CASE("What does not go with text is refused") {
  const std::string pairs =
      R"({"format":"parallel_text","source":"/dev/null","target":"/dev/null"})";
  const auto with = [&](const std::vector<std::string>& overrides) {
    std::vector<std::string> all = {"data.train=" + pairs, "data.test=" + pairs,
                                    R"(model={"type":"transformer_tiny"})"};
    all.insert(all.end(), overrides.begin(), overrides.end());
    return all;
  };
  check_problem(GENERATE_COPY(
      Contradiction{with({}), "job.json:6: data.classes", "text has no classes", "leave it out"},
      Contradiction{with({"data.classes=null", "data.sample_shape=[5]"}),
                    "--set data.sample_shape=[5]", "text has no shape", "leave it out"},
      Contradiction{with({"data.classes=null", R"(data.buckets={"size":10,"window":25})"}),
                    "data.buckets.window", "a window of 25", "a multiple of 10"},
      Contradiction{with({"data.classes=null", R"(stop.target={"metric":"bleu","value":101})"}),
                    "stop.target.value", "a BLEU of 101", "up to 100"},
      Contradiction{with({"data.classes=null", R"(stop.target={"metric":"perplexity","value":1})"}),
                    "stop.target.value", "a perplexity of 1", "above 1"}));
}

TEST_CASE("Machines that come and go take workers only, and share nothing") {
  const std::string machines = "provider={\"type\":\"emulated\"}";
  check_problem(GENERATE_COPY(
      Contradiction{
          {machines, "cluster.hosts=[{\"name\":\"a\",\"address\":\"127.0.0.1\",\"workers\":2}]"},
          "--set cluster.hosts=[{\"name\":\"a\",\"address\":\"127.0.0.1\",\"workers\":2}]",
          "the provider says where workers run",
          "leave out cluster.hosts"},
      Contradiction{{machines, "sync.transport=shared_memory"},
                    "--set sync.transport=shared_memory",
                    "share no memory",
                    "use tcp"},
      Contradiction{{machines, "ps.placement=spread"},
                    "--set ps.placement=spread",
                    "would take state along",
                    "use controller"},
      Contradiction{{machines, "sync.strategy=gloo"},
                    "--set sync.strategy=gloo",
                    "does not encrypt",
                    "allow_plaintext"}));
}

}  // namespace
}  // namespace scavenger
