"""Same config and seed, same bits; and the same weights for every K, up to the order of float sums."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import job  # noqa: E402

SMALL = [job.CONFIGS / "synthetic_mlp.json", "--set", "stop.target=null", "--quiet"]


class DeterminismTest(job.JobTest):
    def weights_of(self, name, *arguments):
        self.train(*SMALL, "--run", self.run_folder(name), *arguments)
        return job.last_weights(self.run_folder(name))

    def test_two_runs_of_one_config_have_the_same_bits(self):
        first = self.weights_of("a", "--workers", 2, "--set", "stop.max_epochs=3")
        second = self.weights_of("b", "--workers", 2, "--set", "stop.max_epochs=3")

        self.assertEqual(first, second)

    def test_the_number_of_shards_and_the_size_of_chunks_change_no_bit(self):
        one = self.weights_of("a", "--workers", 2, "--set", "stop.max_epochs=3")
        many = self.weights_of("b", "--workers", 2, "--set", "stop.max_epochs=3",
                               "--set", "model.hidden=[32]", "--set", "ps.shards=1", "--set", "ps.chunk_bytes=4096")

        self.assertEqual(one, many)

    def test_three_shards_serve_a_model_of_many_chunks(self):
        wide = ["--set", "model.hidden=[256]", "--set", "ps.chunk_bytes=4096", "--set", "stop.max_epochs=2"]
        one = self.weights_of("a", "--workers", 2, *wide, "--set", "sync.transport=tcp")
        three = self.weights_of("b", "--workers", 2, *wide, "--set", "ps.shards=3")

        self.assertEqual(one, three)

    def test_shared_memory_gives_the_bits_of_tcp_in_weights_and_in_the_optimizer(self):
        wide = ["--set", "model.hidden=[256]", "--set", "ps.chunk_bytes=4096", "--set", "stop.max_epochs=4",
                "--set", "batch_size=30", "--workers", 3]
        states = []
        for transport in ("shared_memory", "tcp"):
            self.train(*SMALL, "--run", self.run_folder(transport), *wide, "--set", f"sync.transport={transport}")
            folder = sorted((self.run_folder(transport) / "checkpoints").iterdir())[-1]
            states.append([(folder / name).read_bytes() for name in ("weights.safetensors", "optimizer.safetensors")])

        self.assertEqual(states[0], states[1])

    def test_k_1_2_4_agree_after_100_iterations(self):
        weights = {k: self.weights_of(f"k{k}", "--workers", k, "--set", "stop.max_iterations=100")
                   for k in (1, 2, 4)}

        for k in (2, 4):
            self.assertLess(job.largest_difference(weights[1], weights[k]), 1e-4)
        self.assertGreater(job.largest_difference(weights[1], self.weights_of(
            "longer", "--workers", 1, "--set", "stop.max_iterations=101")), 1e-4)

    def test_another_seed_gives_other_weights(self):
        first = self.weights_of("a", "--set", "stop.max_iterations=10")
        second = self.weights_of("b", "--set", "stop.max_iterations=10", "--set", "seed=2")

        self.assertNotEqual(first, second)


if __name__ == "__main__":
    job.main()
