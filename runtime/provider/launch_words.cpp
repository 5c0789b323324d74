#include "runtime/provider/launch_words.h"

namespace scavenger {

// A script runs before its worker reads the launch ticket: it decides itself when its loop begins.
std::vector<std::string> worker_words(const JobConfig& config) {
  if (config.model.type != ModelType::kPython) return {"scavenger-worker"};
  std::vector<std::string> words = {"scavenger-python-worker"};
  if (!config.model.has_own_loop) return words;
  words.insert(words.end(), {"script", std::to_string(config.seed), config.model.path.string()});
  words.insert(words.end(), config.model.arguments.begin(), config.model.arguments.end());
  return words;
}

std::vector<std::string> site_words(const std::vector<std::string>& prelude,
                                    const std::vector<std::string>& prefix) {
  std::vector<std::string> words;
  if (!prelude.empty()) {
    std::string script = "{\n";
    for (const std::string& line : prelude) script += line + "\n";
    script += "} </dev/null && exec \"$@\"";
    words = {"bash", "-lc", script, "prelude"};
  }
  words.insert(words.end(), prefix.begin(), prefix.end());
  return words;
}

}  // namespace scavenger
