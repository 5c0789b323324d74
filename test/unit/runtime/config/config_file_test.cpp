#include "runtime/config/config_file.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <set>

#include "runtime/config/schema_text.h"
#include "runtime/schema/overrides.h"
#include "runtime/schema/schema_validator.h"
#include "test/unit/runtime/config/config_folder.h"

namespace scavenger {
namespace {

TEST_CASE("A device that never ends is no configuration") {
  try {
    load_job_config("/dev/zero");
    FAIL("it was taken");
  } catch (const ConfigError& error) {
    CHECK_THAT(error.problem().what, Catch::Contains("not a regular file"));
  }
}

TEST_CASE("What a configuration leaves out has the documented default") {
  const ConfigFolder folder;

  const JobConfig config = folder.load(replaced(
      replaced(kValidConfig, "\"cluster\": { \"workers\": 2 },", ""), "\"batch_size\": 32,", ""));

  CHECK(config.seed == JobConfig().seed);
  CHECK(config.batch_size == JobConfig().batch_size);
  CHECK(config.cluster == ClusterConfig());
  CHECK(config.ps == PsConfig());
  CHECK(config.evaluation == EvaluationConfig());
  CheckpointConfig checkpoint;
  checkpoint.every_seconds = 300.0;
  CHECK(config.checkpoint == checkpoint);
  CHECK(config.limits == LimitsConfig());
  CHECK(config.optimizer == OptimizerConfig());  // whose learning rate is the file's
  CHECK(config.data.augment == AugmentConfig());
  CHECK(config.data.scale == 1.0);
}

TEST_CASE("What a configuration says is what the job gets") {
  const ConfigFolder folder;

  const JobConfig config = folder.load(kValidConfig);

  CHECK(config.name == "job");
  CHECK(config.data.train.format == DataFormat::kSynthetic);
  CHECK(config.data.train.samples == 1000);
  CHECK(config.data.train.feature_count == 12);
  CHECK(config.data.test.first_sample == 1000);
  CHECK(config.data.classes == 4);
  CHECK(config.model.type == ModelType::kMlp);
  CHECK(config.model.hidden == std::vector<std::int64_t>{16});
  CHECK(config.batch_size == 32);
  CHECK(config.cluster.workers == 2);
  CHECK(config.stop.max_epochs == 3.0);
  CHECK_FALSE(config.stop.target);
}

TEST_CASE("Overrides win over the file, and automatic is 0") {
  const ConfigFolder folder;

  const JobConfig config =
      folder.load(kValidConfig, {"optimizer.learning_rate=0.5", "ps.shards=3", "ps.shards=auto",
                                 "model.hidden.0=99", "cluster.threads_per_worker=2"});

  CHECK(config.optimizer.learning_rate == 0.5);
  CHECK(config.ps.shards == 0);
  CHECK(config.model.hidden == std::vector<std::int64_t>{99});
  CHECK(config.cluster.threads_per_worker == 2);
}

TEST_CASE("Bytes of images are scaled to 0 to 1 unless the configuration says otherwise") {
  const ConfigFolder folder;
  write_file_atomically(folder.path() / "batch.bin", "");
  const std::string source =
      "{\"format\":\"cifar10\",\"files\":[\"" + (folder.path() / "batch.bin").string() + "\"]}";
  const std::vector<std::string> overrides = {"data.train=" + source, "data.test=" + source};

  CHECK(folder.load(kValidConfig, overrides).data.scale == 1.0 / 255.0);
  CHECK(folder.load(kValidConfig, {overrides[0], overrides[1], "data.scale=2"}).data.scale == 2.0);
}

TEST_CASE("Each class of fault names the line, the key and the remedy") {
  struct Case {
    std::string from, to, where, what, remedy;
  };
  const auto example = GENERATE(
      Case{"\"learning_rate\"", "\"learning_rat\"", ":9: optimizer.learning_rat",
           "unknown key \"learning_rat\"", "did you mean \"learning_rate\"?"},
      Case{"\"name\": \"job\"", "\"name\": 5", ":2: name", "the number 5 has the wrong type",
           "use text"},
      Case{"\"job\"", "\"../job\"", ":2: name", "character that cannot stand here", "letters"},
      Case{"32", "0", ":10: batch_size", "0 is out of range", "from 1 to 1048576"},
      Case{"0.1", "\"0,1\"", ":9: optimizer.learning_rate", "the text \"0,1\" has the wrong type",
           "use a number above 0"},
      Case{"0.1", "0.1, \"momentum\": -0.5", ":9: optimizer.momentum", "-0.5 is out of range",
           "use a number of at least 0 and below 1"},
      Case{"\"sgd\"", "\"sdg\"", ":9: optimizer.type", "\"sdg\" is not known",
           "did you mean \"sgd\"?"},
      Case{"\"sgd\"", "\"adam\", \"momentum\": 0.9", ":9: optimizer.momentum",
           "unknown key \"momentum\"", "it belongs to \"type\": \"sgd\"; the keys here are"},
      Case{"\"classes\": 4", "\"classes\": 1", ":6: data.classes", "1 is out of range",
           "from 2 to"},
      Case{",\n    \"classes\": 4", "", ":3: data", "\"classes\" is missing", "an integer from 2"},
      Case{"\"max_epochs\": 3", "\"max_epochs\": 0", ":12: stop.max_epochs", "0 is out of range",
           "use a number above 0"},
      Case{"\"workers\": 2", "\"workers\": 2 }, \"ps\": { \"chunk_bytes\": 5000",
           ":11: ps.chunk_bytes", "5000 is not a multiple of 64", "from 4096 to 67108864"},
      Case{"\"workers\": 2", "\"workers\": 2 }, \"ps\": { \"shards\": \"many\"", ":11: ps.shards",
           "the text \"many\" is not possible here", "\"auto\" or an integer from 1 to 256"},
      Case{"[16]", "[16, \"x\"]", ":8: model.hidden.1", "the text \"x\" has the wrong type",
           "use an integer"},
      Case{"[16]", "16", ":8: model.hidden", "the number 16 has the wrong type", "use a list"},
      Case{"\"stop\": { \"max_epochs\": 3 }", "\"seed\": 2", ":1", "\"stop\" is missing", "add it"},
      Case{"\"batch_size\": 32", "\"name\": \"again\"", ":10: name", "given twice", "keep one"});
  CAPTURE(example.from, example.to);
  const ConfigFolder folder;

  const Problem problem = folder.problem(replaced(kValidConfig, example.from, example.to));

  CHECK_THAT(problem.where, Catch::StartsWith(folder.file().string() + example.where));
  CHECK_THAT(problem.what, Catch::Contains(example.what));
  CHECK_THAT(problem.remedy, Catch::Contains(example.remedy));
}

TEST_CASE("IDX data without labels is refused") {
  const ConfigFolder folder;

  const Problem problem =
      folder.problem(kValidConfig, {R"(data.train={"format":"idx","features":"x"})"});

  CHECK(problem.what == "\"labels\" is missing");
  CHECK_THAT(problem.remedy, Catch::StartsWith("add it: text"));
}

TEST_CASE("Of several faults the first in the file is reported, and overrides come last") {
  const ConfigFolder folder;
  const std::string text = replaced(replaced(kValidConfig, "32", "0"), "[16]", "[0]");

  const Problem problem = folder.problem(text, {"seed=-1"});

  CHECK_THAT(problem.where, Catch::EndsWith(":8: model.hidden.0"));
}

TEST_CASE("A fault in an override is reported in its own words") {
  const ConfigFolder folder;

  CHECK(folder.problem(kValidConfig, {"optimizer.learning_rate=fast"}).where ==
        "--set optimizer.learning_rate=fast");
  CHECK(folder.problem(kValidConfig, {"optimiser.learning_rate=1"}).remedy ==
        "did you mean \"optimizer\"?");
}

TEST_CASE("A configuration that is not there, or is a folder, is an error that says so") {
  const ConfigFolder folder;

  const Problem missing = config_problem([] { load_job_config("/none/x.json"); });
  const Problem is_folder = config_problem([&] { load_job_config(folder.path()); });

  CHECK(missing.where == "/none/x.json");
  CHECK_THAT(missing.what, Catch::Contains("No such file"));
  CHECK_THAT(missing.remedy, Catch::Contains("configs/fashion_mlp.json"));
  CHECK_THAT(is_folder.what, Catch::Contains("directory"));
}

const std::vector<std::string> kVariants = {"sgd, step, mlp, csv",
                                            "python",
                                            "python, table",
                                            "python, text",
                                            "python, images",
                                            "script",
                                            "adam, constant, cnn, idx",
                                            "adamw, cosine, resnet18, synthetic",
                                            "cifar100",
                                            "arrays",
                                            "text",
                                            "parallel_text",
                                            "kubernetes"};

std::vector<std::string> splits(const std::string& source) {
  return {"data.train=" + source, "data.test=" + source};
}

// Together these overrides use every key.
std::vector<std::string> overrides_with_every_key(const std::string& variant) {
  std::vector<std::string> all = {
      "seed=7",
      "data.sample_shape=[3,2,2]",
      "data.scale=0.1",
      R"(data.normalise={"mean":[0.1,0.2,0.3],"standard_deviation":[1,2,3]})",
      R"(data.augment={"flip":true,"crop_padding":1})",
      R"(cluster={"workers":3,"price_per_worker_hour":0.07,"threads_per_worker":2,
          "listen_address":"10.0.0.1","hosts":[{"name":"a","address":"10.0.0.2","launch":["ssh","a"],
          "workers":3,"largest_share":20}]})",
      R"(ps={"shards":2,"placement":"spread","chunk_bytes":65536,"port":7000})",
      R"(sync={"strategy":"gloo","transport":"tcp","wire_precision":"float32","allow_plaintext":true})",
      R"(faults={"on_worker_loss":"shrink","max_losses":7})",
      "device=cpu",
      R"(compute={"precision":"bfloat16","image_order":"channels_last","tune_kernels":true,"prepare_images":"device","cuda_graphs":"auto","micro_batch":3})",
      R"(stop={"target":{"metric":"loss","split":"train","value":0.3},"max_epochs":2.5,
          "max_iterations":9007199254740991,"max_seconds":1e-3,"max_cost":2.5,
          "early_stopping":{"metric":"loss","patience":4,"min_delta":0.01}})",
      R"(evaluation={"every_epochs":0.5,"every_iterations":10,"batch_size":9})",
      R"(checkpoint={"every_epochs":0.3,"every_iterations":5,"every_seconds":60,"keep_last":1,
          "keep_best":false})",
      R"(noise={"per_layer":true,"half_batch_share":0.25})",
      R"(search={"mode":"adaptive","policy":"min-cost","workers":[1,2],"batch_sizes":[64,128],
          "max_local_batch":512,"iterations":30,"cold_start_iterations":100,"margin":0.1,
          "budget":0.02})",
      R"(batching={"dynamic":true,"dead_band":0.2,"integral_gain":0.1,"derivative_gain":0.5,
          "smallest_share":2,"largest_share":40})",
      R"(model_store={"url":"http://127.0.0.1:7077","token_file":"/token","machine_type":"e2-standard-4"})",
      R"(limits={"start_seconds":1,"heartbeat_seconds":2,"iteration_seconds":3,"boundary_seconds":5,"stop_seconds":4})"};
  if (variant == "cifar100") {
    all = splits(R"({"format":"cifar100","files":["/a.bin"],"coarse_labels":true})");
    all.emplace_back("data.scale=0.5");
    all.emplace_back(
        R"(provider={"type":"emulated","machines":[{"type":"a","cores":0.5,"link_megabits":100,
            "price_per_hour":1,"spot_price_per_hour":0.5,"start_seconds":2,"count":3}],"spot":true,
            "preemption":{"lifetimes":[[5,0.5],[60,1]],"notice_seconds":5,"notice_share":0.5,"seed":3,
            "schedule":[{"worker":1,"life_seconds":2,"notice_seconds":1}]},
            "speeds":{"spread":0.05,"seed":7,"slow":[{"machine":3,"speed":0.7}]},
            "quota_period_milliseconds":10})");
    all.emplace_back(R"(loss={"type":"cross_entropy","label_smoothing":0.1})");
    all.emplace_back(
        R"(optimizer={"type":"sgd","learning_rate":1,"clip_norm":2.5,"batch_size_rule":"sqrt",
            "reference_batch_size":16,"schedule":{"type":"inverse_sqrt","warmup_epochs":0.5}})");
  } else if (variant == "arrays") {
    all = splits(R"({"format":"arrays","features":"/a.npz","labels":"/b.npz","features_name":"u",
                     "labels_name":"v"})");
    all.emplace_back(
        R"(provider={"type":"ssh","hosts":[{"destination":"a","address":"10.0.0.2","workers":2,
            "type":"lab","gpu_type":"a100","cores":4,"price_per_hour":0.2}],"options":["-p","22"],"launch_prefix":["env"],
            "prelude":["true"],"program_folder":"/opt/s/bin"})");
    all.insert(all.end(), {"data.classes=null", "data.scale=2", R"(loss={"type":"bce"})",
                           R"(model={"type":"plugin","path":"/lib.so"})",
                           R"(stop={"target":{"metric":"mse","value":0.3}})"});
  } else if (variant == "text") {
    all = splits(R"({"format":"text","files":["/a.txt"],"from":0.25,"to":0.75})");
    all.emplace_back(
        R"(provider={"type":"slurm","partition":"spot","cores":2,"price_per_hour":0.1,
            "options":["--qos=low"],"launch_options":["--mpi=none"],"launch_prefix":["env"],
            "prelude":["true"],"wait_seconds":5,"program_folder":"/opt/s/bin","memory_gib":3,"gpus":1,
            "gpu_type":"a100","workers_per_job":2,"time_limit_minutes":90,"allocation":true,
            "interface":"ib0","notice_seconds":30,"replace_seconds":600,"vms":{"types":"b*"},
            "machines":[{"type":"big","partition":"b","cores":4,"memory_gib":1.5,"gpus":2,
            "gpu_type":"h100","workers_per_job":4,"time_limit_minutes":60,"price_per_hour":0.2,
            "options":["--qos=high"],"count":3}]})");
    all.insert(all.end(), {"data.classes=null", "data.scale=2", "data.sequence_length=64",
                           R"(data.vocabulary={"tokens":"characters","lowercase":true,
                               "min_frequency":2,"max_size":100})",
                           R"(model={"type":"language_model","width":12,"heads":3,"inner":7,
                               "layers":2,"dropout":0.2,"norm":"post"})",
                           R"(stop={"target":{"metric":"perplexity","value":3}})"});
  } else if (variant == "parallel_text") {
    all = splits(R"({"format":"parallel_text","source":"/a.en","target":"/a.de"})");
    all.emplace_back(
        R"(provider={"type":"gcp","zones":["us-central1-a"],"machine_types":["n1-standard-4"],
            "gpus":{"type":"nvidia-tesla-t4","count":1},"spot":true,"programs":"/opt/s/bin"})");
    all.insert(all.end(), {"data.classes=null", "data.scale=2", "data.max_length=50",
                           "data.vocabulary.shared=true",
                           R"(model={"type":"transformer_base","width":12,"heads":3,"inner":7,
                               "encoder_layers":2,"decoder_layers":1,"dropout":0.2,"norm":"pre",
                               "shared_embeddings":"all"})",
                           R"(data.buckets={"size":64,"window":640})", "evaluation.beam_width=4",
                           R"(stop={"target":{"metric":"bleu","value":32}})"});
  } else if (variant == "python") {
    all = {"data.scale=0.5", R"(model={"type":"python","file":"/train.py"})"};
  } else if (variant == "python, table") {
    all = splits(R"({"format":"table","files":["/a.parquet"],"samples":9,"first_sample":1})");
    all.insert(
        all.end(),
        {R"(model={"type":"python","file":"/train.py"})", "data.validation_share=0.25",
         "data.scale=0.5",
         R"(optimizer={"type":"python","state":["exp_avg","step"],"clip_norm":1.5,"batch_size_rule":"linear"})",
         R"(data.columns={"label":"y","features":["a","b"],"missing":"mean"})"});
  } else if (variant == "python, text") {
    all = splits(R"({"format":"huggingface","files":["/a"]})");
    all.insert(all.end(),
               {R"(model={"type":"python","file":"/train.py"})", "data.validation_share=0.25",
                "data.scale=0.5", R"(data.columns={"label":"y","text":"a","missing":"drop"})",
                R"(data.tokenizer={"file":"/tokenizer.json","max_tokens":64})"});
  } else if (variant == "python, images") {
    all = splits(R"({"format":"huggingface","files":["/a"]})");
    all.insert(all.end(), {R"(model={"type":"python","file":"/train.py"})", "data.scale=0.5",
                           "data.sample_shape=[3,9,9]", "data.validation_share=0.25",
                           R"(data.columns={"label":"y","image":"a","missing":"error"})"});
  } else if (variant == "script") {
    all = splits(R"({"format":"python","samples":800})");
    all.insert(all.end(), {"data.scale=0.5", "evaluation.enabled=false",
                           R"(model={"type":"python","file":"/train.py","loop":"script",
                              "arguments":["--width","64"]})"});
  } else if (variant == "kubernetes") {
    all = splits(R"({"format":"cifar100","files":["/a.bin"],"coarse_labels":true})");
    all.emplace_back("data.scale=0.5");
    all.emplace_back(
        R"(provider={"type":"kubernetes","context":"c","kubeconfig":"/k","namespace":"n","image":"i:1",
            "pod_template":{},"watch_nodes":true,"spot":true,"vms":{"mode":"auto","max_vms":3},
            "machines":[{"type":"a","cores":2,"memory_gib":4,"gpu_type":"l4","node_labels":{"zone":"a"},
            "price_per_hour":0.1}]})");
  } else if (variant == "sgd, step, mlp, csv") {
    const std::string csv = R"({"format":"csv","files":["/a.csv","/b.csv"],"label_column":"2"})";
    all.insert(all.end(),
               {"data.train=" + csv,
                R"(data.test={"format":"csv","files":["/a"],"label_column":"y","has_header":true})",
                R"(model={"type":"mlp","hidden":[],"activation":"tanh"})",
                R"(optimizer={"type":"sgd","learning_rate":0.3,"momentum":0.9,"nesterov":true,
                    "weight_decay":1e-4,"schedule":{"type":"step","boundary_epochs":[1,2.5],
                    "factor":0.2,"warmup_epochs":0.1}})"});
  } else if (variant == "adam, constant, cnn, idx") {
    const std::string idx = R"({"format":"idx","features":"/x.gz","labels":"/y.gz"})";
    all.insert(all.end(), {"data.train=" + idx, "data.test=" + idx,
                           R"(model={"type":"cnn","channels":[4],"dense":5})",
                           R"(model_store={"path":"/models.db"})",
                           R"(optimizer={"type":"adam","learning_rate":0.3,"beta1":0.8,"beta2":0.9,
                               "epsilon":1e-6,"weight_decay":1e-4,
                               "schedule":{"type":"constant","warmup_epochs":3}})"});
  } else {
    all.insert(all.end(), {"data.train.label_noise=0.25", "data.sample_shape=[3,9,9]",
                           "data.train.feature_count=243", "data.test.feature_count=243",
                           R"(model={"type":"resnet18","stem":"cifar","freeze":["a*"],
                               "start":{"weights":"/w.safetensors","except":["fc.*"]}})",
                           R"(optimizer={"type":"adamw","learning_rate":0.3,"weight_decay":0.2,
                               "schedule":{"type":"cosine","total_epochs":9,"final_fraction":0.1}})"});
  }
  return all;
}

TEST_CASE("The resolved document makes the same configuration again") {
  const std::string variant = GENERATE(from_range(kVariants));
  CAPTURE(variant);
  const ConfigFolder folder;
  write_file_atomically(folder.file(), kValidConfig);
  const JobConfig config =
      load_job_config(folder.file(), overrides_with_every_key(variant), DataFiles::kNotChecked);

  const std::string resolved = to_json(config).dump(2);
  const JobConfig again = parse_resolved_config(resolved, "config.json");

  CHECK(again == config);
  CHECK(to_json(again).dump(2) == resolved);
}

TEST_CASE("The resolved document has every value that was set, and the defaults") {
  const std::string variant = GENERATE(from_range(kVariants));
  CAPTURE(variant);
  const ConfigFolder folder;
  write_file_atomically(folder.file(), kValidConfig);
  const std::vector<std::string> overrides = overrides_with_every_key(variant);
  LocatedJson given = parse_located_json(kValidConfig, "job.json");
  apply_overrides(overrides, given);
  apply_schema(Json::parse(schema_text()), given.document);

  const Json resolved = to_json(load_job_config(folder.file(), overrides, DataFiles::kNotChecked));

  CHECK(nlohmann::json(resolved) == nlohmann::json(given.document));
}

// The keys that a document of `schema` can have, as JSON pointers.
void collect_keys(const Json& root, const Json& schema, const std::string& place,
                  std::set<std::string>& keys) {
  if (schema.contains("$ref")) {
    const std::string reference = schema.at("$ref");
    collect_keys(root, root.at(JsonPointer(reference.substr(1))), place, keys);
  }
  for (const Json& alternative : schema.value("oneOf", Json::array()))
    collect_keys(root, alternative, place, keys);
  const Json properties = schema.value("properties", Json::object());
  for (const auto& [key, property] : properties.items()) {
    if (key == "$schema") continue;
    keys.insert(place + "/" + key);
    collect_keys(root, property, place + "/" + key, keys);
  }
}

void collect_keys_of_document(const Json& object, const std::string& place,
                              std::set<std::string>& keys) {
  for (const auto& [key, value] : object.items()) {
    keys.insert(place + "/" + key);
    if (value.is_object()) collect_keys_of_document(value, place + "/" + key, keys);
  }
}

TEST_CASE("Each key of the schema is in one of the documents that these tests take round") {
  const Json schema = Json::parse(schema_text());
  std::set<std::string> known;
  collect_keys(schema, schema, "", known);
  const ConfigFolder folder;
  write_file_atomically(folder.file(), kValidConfig);

  std::set<std::string> covered;
  for (const std::string& variant : kVariants)
    collect_keys_of_document(
        to_json(load_job_config(folder.file(), overrides_with_every_key(variant),
                                DataFiles::kNotChecked)),
        "", covered);

  CHECK(covered == known);
}

TEST_CASE("A resolved document is checked like any other, and has no relative paths") {
  const ConfigFolder folder;
  auto document = to_json(folder.load(kValidConfig));
  document["batch_size"] = 1;
  const Problem inconsistent =
      config_problem([&] { parse_resolved_config(document.dump(2), "run/config.json"); });
  document["batch_size"] = 8;
  document["data"]["train"] = {{"format", "csv"}, {"files", {"a.csv"}}};
  document["data"]["test"] = document["data"]["train"];

  const Problem relative =
      config_problem([&] { parse_resolved_config(document.dump(2), "run/config.json"); });

  CHECK_THAT(inconsistent.what, Catch::Contains("cannot share a batch of 1"));
  CHECK_THAT(inconsistent.where, Catch::StartsWith("run/config.json:"));
  CHECK(relative.what == "a.csv is not an absolute path");
}

}  // namespace
}  // namespace scavenger
