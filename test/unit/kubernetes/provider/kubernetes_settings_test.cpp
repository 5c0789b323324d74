#include "kubernetes/provider/kubernetes_settings.h"

#include <catch2/catch.hpp>

#include "runtime/config/config_file.h"

namespace scavenger::kubernetes {
namespace {

KubernetesSettings settings_with(const std::vector<std::string>& overrides) {
  const std::filesystem::path file = SCAVENGER_CONFIGS "/kubernetes_spot.json";
  return kubernetes_settings(load_job_config(file, overrides, DataFiles::kNotChecked).provider);
}

}  // namespace

TEST_CASE("kubernetes_settings: the ready configuration, and its catalogue") {
  const KubernetesSettings settings = settings_with({});
  CHECK(settings.image == "REGISTRY/scavenger:1");
  REQUIRE(settings.machines.size() == 1);
  CHECK(settings.machines[0].node_labels.size() == 1);
  CHECK(settings.machines[0].has_spot());
  CHECK(settings.pod_template == json::object());
  const MachineCatalogue catalogue = kubernetes_catalogue(settings);
  CHECK(price_of(catalogue, "n2d-standard-4", true)->per_hour == Approx(0.049));
  CHECK(price_of(catalogue, "", false)->per_hour == Approx(0.169));
}

TEST_CASE("kubernetes_settings: a template is passed on, or refused by its place") {
  const auto with = [](const std::string& pod_template) {
    return settings_with({"provider.pod_template=" + pod_template});
  };
  CHECK(with(R"({"spec": {"priorityClassName": "low"}})").pod_template["spec"].size() == 1);
  CHECK_THROWS_WITH(with(R"({"status": {}})"), Catch::Contains("provider.pod_template"));
  CHECK_THROWS_WITH(with(R"({"spec": {"containers": [{"image": "x"}]}})"),
                    Catch::Contains("\"worker\""));
}

}  // namespace scavenger::kubernetes
