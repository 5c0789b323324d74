// The part of YAML that kubeconfig files are written in, and all of JSON.
//
// Block mappings and sequences, plain and quoted scalars of one line, literal blocks (| and >),
// empty flow collections and comments. Anchors, tags, several documents and other flow collections
// are refused rather than misread, except a document that is JSON as a whole.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace scavenger::kubernetes {

// Scalars become text, except that plain ones of JSON (true, false, null, numbers) keep their type.
// Throws InputError, which names `where` and the line.
nlohmann::json parse_yaml(std::string_view text, const std::string& where);

}  // namespace scavenger::kubernetes
