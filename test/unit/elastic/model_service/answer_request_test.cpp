#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "elastic/model_service/model_service.h"
#include "perfmodel/store/sqlite_store.h"
#include "test/support/temporary_folder.h"
#include "test/unit/perfmodel/store/sample_record.h"

using namespace scavenger;
using namespace scavenger::elastic;

TEST_CASE("each request has its answer, and each mistake its status") {
  const TemporaryFolder folder;
  perfmodel::SqliteStore store(folder.path() / "s.sqlite");
  const perfmodel::ModelRecord record = perfmodel::sample_record();
  const std::string text = perfmodel::to_json_text(record),
                    model = "/models/" + record.signature.id();

  CHECK(answer_request(store, "GET", "/models", "").body == "[]");
  CHECK(answer_request(store, "GET", model, "").status == 404);
  CHECK(answer_request(store, "POST", "/models", text).status == 200);
  CHECK(nlohmann::json::parse(answer_request(store, "GET", "/models", "").body).size() == 1);
  CHECK(perfmodel::parse_model_record(answer_request(store, "GET", model, "").body, "")
            .times.size() == record.times.size());
  CHECK(answer_request(store, "GET", model + "/fit", "").status == 404);
  CHECK(answer_request(store, "PUT", model + "/fit", "{\"a\":1}").status == 200);
  CHECK(answer_request(store, "GET", model + "/fit", "").body == "{\"a\":1}");
  CHECK(answer_request(store, "PUT", model + "/fit", "{").status == 400);
  CHECK(answer_request(store, "DELETE", model, "").status == 200);
  CHECK(answer_request(store, "DELETE", model, "").status == 404);

  CHECK(answer_request(store, "POST", "/models", "{}").status == 400);
  const ServiceAnswer of_bytes = answer_request(store, "POST", "/models", "\"\xff\"");
  CHECK(of_bytes.status == 400);
  CHECK(nlohmann::json::accept(of_bytes.body));
  CHECK(answer_request(store, "PATCH", "/models", "").status == 405);
  CHECK(answer_request(store, "PUT", model, "{}").status == 405);
  CHECK(answer_request(store, "GET", "/", "").status == 404);
  CHECK(answer_request(store, "GET", "/modelsx", "").status == 404);
}
