// For bleu_reference_test.py: prints the BLEU of two files of words, line against line.
#include <cstdio>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "runtime/metrics/bleu.h"
#include "runtime/training/data_shape.h"

namespace {

std::vector<std::int64_t> tokens_of(const std::string& line,
                                    std::map<std::string, std::int64_t>& vocabulary) {
  std::istringstream words(line);
  std::vector<std::int64_t> tokens;
  const auto next = [&] {
    return scavenger::kFirstWordToken + static_cast<std::int64_t>(vocabulary.size());
  };
  for (std::string word; words >> word;)
    tokens.push_back(vocabulary.try_emplace(word, next()).first->second);
  return tokens;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  std::ifstream hypotheses(argv[1]), references(argv[2]);
  std::map<std::string, std::int64_t> vocabulary;
  scavenger::BleuStatistics statistics;
  for (std::string hypothesis, reference;
       std::getline(hypotheses, hypothesis) && std::getline(references, reference);)
    scavenger::add_sentence(tokens_of(hypothesis, vocabulary), tokens_of(reference, vocabulary),
                            statistics);
  std::printf("%.12f\n", scavenger::bleu_score(statistics));
}
