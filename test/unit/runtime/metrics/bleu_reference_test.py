"""Our BLEU is sacrebleu's, to the last digits, also where smoothing and brevity come in."""

import pathlib
import random
import subprocess
import sys
import tempfile
import unittest

import sacrebleu

PROGRAM = sys.argv.pop(1)


def our_bleu(hypotheses, references):
    with tempfile.TemporaryDirectory() as folder:
        files = [pathlib.Path(folder) / name for name in ("hypotheses", "references")]
        for file, lines in zip(files, (hypotheses, references)):
            file.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
        return float(subprocess.run([PROGRAM, *files], check=True, capture_output=True).stdout)


def sentences(stream, count, words):
    return [" ".join(stream.choice(words) for _ in range(stream.randint(1, 25))) for _ in range(count)]


def spoiled(stream, sentence, words, share):
    kept = [word if stream.random() > share else stream.choice(words) for word in sentence.split()]
    return " ".join(word for word in kept if stream.random() > share / 4) or stream.choice(words)


class BleuTest(unittest.TestCase):
    def compare(self, hypotheses, references):
        expected = sacrebleu.corpus_bleu(hypotheses, [references], tokenize="none", force=True).score
        self.assertAlmostEqual(our_bleu(hypotheses, references), expected, delta=1e-8)
        return expected

    def test_corpora_of_every_quality(self):
        words = [f"wort{i}ä" for i in range(40)]
        scores = []
        for seed in range(8):
            stream = random.Random(seed)
            references = sentences(stream, 60, words)
            hypotheses = [spoiled(stream, line, words, seed / 8) for line in references]
            scores.append(self.compare(hypotheses, references))
        self.assertGreater(max(scores), 99.0)
        self.assertLess(min(scores), 20.0)

    def test_orders_without_a_match_are_smoothed(self):
        self.compare(["a x b y c z d"], ["a b c d e f g"])
        self.compare(["a b x c d y"], ["a b c d e f g"])

    def test_corpora_too_short_for_an_order(self):
        self.compare(["a b"], ["a b"])
        self.compare(["a b c", "a"], ["a b c", "b"])

    def test_long_and_short_translations(self):
        references = ["the quick brown fox jumps over the lazy dog"] * 3
        self.compare([line + " and runs away" for line in references], references)
        self.compare(["the quick brown fox jumps"] * 3, references)


if __name__ == "__main__":
    unittest.main()
