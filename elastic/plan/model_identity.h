// What of a job's configuration says which stored model its measurements belong to: an explicit
// list of keys, with a version. Pure.
//
// A key that is not in the list is no part of the identity, so a key that is added to the
// configuration later leaves the rows of every store where they are. If it matters to the
// measurements, it is added with the default that it came with: then it counts only for a job that
// sets another value. Keys are never removed or renamed. An identity that has to mean something
// else is a new version, and stores have to be migrated (perfmodel/store).
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>

#include "runtime/config/job_config.h"

namespace scavenger::elastic {

inline constexpr int kModelIdentityVersion = 1;

struct IdentityKey {
  std::string pointer;                           // within its section: "/schedule/type"
  std::optional<nlohmann::json> came_with = {};  // its default; none: a key of version 1
};

// Of each section what the list of version 1, and what came later, picks. Of the data's files it
// has the names, without their folders.
struct ModelIdentity {
  nlohmann::json model;
  nlohmann::json data;
  nlohmann::json optimizer;
};
ModelIdentity identity_of(const JobConfig& config);

// Those of the keys that the section has, but for later ones with the value that they came with.
nlohmann::json picked(const nlohmann::json& section, std::span<const IdentityKey> keys);

// 16 hexadecimal digits.
std::string identity_digest(const nlohmann::json& identity);

}  // namespace scavenger::elastic
