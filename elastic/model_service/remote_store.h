// The store behind a service on another machine.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "perfmodel/store/model_store.h"

namespace scavenger::elastic {

// Thread: one at a time. All calls throw ConnectionError if the service is not there, is late,
// or has trouble with its store; InputError if it refuses the token or the content.
class RemoteStore final : public perfmodel::ModelStore {
 public:
  // `url`: "http://10.0.0.5:7077". Throws InputError for another kind.
  RemoteStore(const std::string& url, std::string token);

  void record(const perfmodel::ModelRecord& record) override;
  std::vector<perfmodel::ModelSummary> list() override;
  std::optional<perfmodel::ModelRecord> find(const std::string& id) override;
  bool forget(const std::string& id) override;
  void record_fit(const std::string& id, const std::string& json) override;
  std::optional<std::string> find_fit(const std::string& id) override;

 private:
  // The body of the answer; nothing for 404.
  std::optional<std::string> ask(const std::string& method, const std::string& path,
                                 const std::string& body = {});

  std::string host_;
  std::string port_;
  std::string token_;
};

}  // namespace scavenger::elastic
