#include "runtime/provider/launch_words.h"

namespace scavenger {

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
