"""The formats that models in Python read: what becomes of each sample, and what is said of wrong ones."""

import gzip
import io
import json
import os
import pathlib
import shutil
import sys
import tarfile
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python"))


def has(*modules):
    import importlib.util
    return all(importlib.util.find_spec(module) for module in modules)


@unittest.skipUnless(has("torch", "numpy"), "PyTorch for Python is not installed")
class DataTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="scavenger_data_"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        before = os.environ.get("SCAVENGER_CACHE_DIR")
        self.addCleanup(lambda: os.environ.pop("SCAVENGER_CACHE_DIR") if before is None else
                        os.environ.update(SCAVENGER_CACHE_DIR=before))
        os.environ["SCAVENGER_CACHE_DIR"] = str(self.folder / "cache")

    def write(self, name, content):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return str(path)

    def splits(self, files, test=None, **data):
        """The data sets of a description, for training and for testing."""
        from scavenger.data import reader
        data["train"] = {"format": data.pop("format", "table"), "files": files}
        if test:
            data["test"] = {**data["train"], "files": test}
        made = reader(data)
        return made("train"), made("test")

    def said_of(self, *arguments, **data):
        from scavenger.problems import UserError
        with self.assertRaises(UserError) as raised:
            self.splits(*arguments, **data)
        error = raised.exception
        self.assertTrue(error.remedy, "there is no remedy")
        return f"{error.where}: {error.what}"


class TableTest(DataTest):
    COLUMNS = {"label": "kind"}

    def rows(self, dataset):
        return [([round(float(x), 4) for x in features], target.tolist()) for features, target in dataset]

    def test_class_names_are_sorted_and_numbered(self):
        path = self.write("a.csv", "﻿x,kind,y\n1,pear,2\n3,apple,4\n5,fig,6\n")
        train, test = self.splits([path], [self.write("b.csv", "kind,y,x\nfig,8,7\n")], classes=3, columns=self.COLUMNS)
        self.assertEqual(self.rows(train), [([1, 2], 2), ([3, 4], 0), ([5, 6], 1)])
        self.assertEqual(self.rows(test), [([7, 8], 1)])  # in the order of the training data's columns

    def test_numbers_from_0_stand_for_themselves_and_others_are_names(self):
        path = self.write("a.csv", "x,kind\n1,2\n2,0\n")
        self.assertEqual([t for _, t in self.rows(self.splits([path], [path], classes=4, columns=self.COLUMNS)[0])], [2, 0])
        path = self.write("b.csv", "x,kind\n1,10\n2,9\n3,10\n")
        self.assertEqual([t for _, t in self.rows(self.splits([path], [path], classes=2, columns=self.COLUMNS)[0])],
                         [1, 0, 1])

    def test_words_that_also_are_numbers_of_floats_are_names(self):
        path = self.write("a.jsonl", '{"x": 1, "kind": "inf"}\n{"x": 2, "kind": "nan"}\n{"x": 3, "kind": "\u00b2"}\n')
        train = self.splits([path], [path], classes=3, columns=self.COLUMNS)[0]
        self.assertEqual([target for _, target in self.rows(train)], [0, 1, 2])

    def test_without_classes_targets_are_values(self):
        path = self.write("a.csv", "x,kind\n1,0.5\n2,-3\n")
        self.assertEqual(self.rows(self.splits([path], [path], columns=self.COLUMNS)[0]), [([1], [0.5]), ([2], [-3])])

    def test_missing_values_are_an_error_or_the_training_mean_or_drop_the_row(self):
        train = self.write("a.csv", "x,y,kind\n1,10,0\n,20,1\n3,NA,0\nnan,30,1\n")
        test = self.write("b.csv", "x,y,kind\n?,null,1\n7,8,0\n")
        said = self.said_of([train], [test], classes=2, columns=self.COLUMNS)
        self.assertIn("a.csv:3: column x has no value", said)
        mean = {**self.COLUMNS, "missing": "mean"}
        found = self.splits([train], [test], classes=2, columns=mean)
        self.assertEqual(self.rows(found[0]), [([1, 10], 0), ([2, 20], 1), ([3, 20], 0), ([2, 30], 1)])
        self.assertEqual(self.rows(found[1]), [([2, 20], 1), ([7, 8], 0)])
        drop = {**self.COLUMNS, "missing": "drop"}
        found = self.splits([train], [test], classes=2, columns=drop)
        self.assertEqual(self.rows(found[0]), [([1, 10], 0)])
        self.assertEqual(self.rows(found[1]), [([7, 8], 0)])

    def test_the_mean_is_that_of_the_samples_that_are_not_held_back(self):
        path = self.write("a.csv", "x,kind\n" + "".join(f"{'' if i == 5 else i * i},0\n" for i in range(20)))
        train, test = self.splits([path], validation_share=0.4, columns={**self.COLUMNS, "missing": "mean"})
        known = [i * i for i in range(20) if i != 5]
        in_train, in_test = ([x[0] for x, _ in self.rows(part)] for part in (train, test))
        filled = [x for x in in_train + in_test if x not in known]
        kept = [x for x in in_train if x in known]
        self.assertEqual((len(in_train), len(in_test), len(filled)), (12, 8, 1))
        self.assertAlmostEqual(filled[0], sum(kept) / len(kept), places=3)

    def test_json_lines_and_gzip_have_the_same_rows(self):
        rows = [{"x": 1, "y": True, "kind": "a"}, {"x": 2.5, "y": False, "kind": "b", "note": "n"}, {"x": 3, "y": True,
                                                                                                   "kind": "a"}]
        text = "\n".join(map(json.dumps, rows))
        wanted = [([1, 1], 0), ([2.5, 0], 1), ([3, 1], 0)]
        for name, content in (("a.jsonl", text), ("b.jsonl.gz", gzip.compress(text.encode()))):
            path = self.write(name, content)
            self.assertEqual(self.rows(self.splits([path], [path], classes=2, columns=self.COLUMNS)[0]), wanted)

    @unittest.skipUnless(has("pyarrow"), "pyarrow is not installed")
    def test_parquet_and_arrow_have_the_same_rows(self):
        import pyarrow
        import pyarrow.feather
        import pyarrow.parquet
        table = pyarrow.table({"x": [1, None, 3], "kind": ["a", "b", "a"], "y": [0.5, 1.5, float("nan")]})
        pyarrow.parquet.write_table(table, self.folder / "a.parquet")
        pyarrow.feather.write_feather(table, self.folder / "a.arrow")
        with pyarrow.ipc.new_stream(self.folder / "b.arrow", table.schema) as stream:
            stream.write_table(table)
        for name in ("a.parquet", "a.arrow", "b.arrow"):
            path = str(self.folder / name)
            found = self.splits([path], [path], classes=2, columns={**self.COLUMNS, "missing": "mean"})[0]
            self.assertEqual(self.rows(found), [([1, 0.5], 0), ([2, 1.5], 1), ([3, 1], 0)])
        (self.folder / "c.parquet").write_bytes(b"PAR1 and no more")
        said = self.said_of([str(self.folder / "c.parquet")], classes=2, validation_share=0.5, columns=self.COLUMNS)
        self.assertIn("this is no Parquet file", said)

    def test_a_folder_is_its_files_in_order(self):
        for name in ("b", "a"):
            self.write(f"parts/{name}.csv", f"x,kind\n{ord(name)},0\n")
        self.write("parts/readme.txt", "no data")
        self.assertEqual(self.rows(self.splits([str(self.folder / "parts")], [str(self.folder / "parts")], classes=2,
                                               columns=self.COLUMNS)[0]), [([97], 0), ([98], 0)])

    def test_wrong_tables_are_named(self):
        good = self.write("good.csv", "x,kind\n1,a\n2,b\n")
        for content, words, columns in [
                ("x,kind\n1\n", "bad.csv:2: this line has 1 fields, and the first 2", {}),
                ("x,x,kind\n1,2,a\n", "two columns have the name x", {}),
                ("", "the file is empty", {}),
                ("x,kind\n", "there are no rows", {}),
                ("x,kind\n1,a\n2,b\n3,c\n", "there are 3 classes, and data.classes is 2: a, b, c", {}),
                ("x,kind\n1,\n", "bad.csv:2: column kind has no value", {}),
                ("x,kind\nw,a\n1,b\n", "no column has numbers", {}),
                ("x,kind\nw,a\n1,b\n", "bad.csv:2: column x is w, which is no number", {"features": ["x"]}),
                ("x,kind\ninf,a\n1,b\n", "bad.csv:2: column x is inf", {}),
                ("x,kind\n1,a\n", "there is no column z", {"features": ["z"]}),
                ("x,kind\n\n1,\"a\nb\"\n\n2,\n", "bad.csv:6: column kind has no value", {}),
                (b"x,kind\n1,\xe4\n", "bad.csv: this is no text in UTF-8", {}),
                ("x,sort\n1,a\n", "there is no column kind", {})]:
            with self.subTest(words):
                bad = self.write("bad.csv", content)
                self.assertIn(words, self.said_of([bad], [good], classes=2, columns={**self.COLUMNS, **columns}))
        other = self.write("other.csv", "x,kind\n1,c\n")
        self.assertIn("other.csv:2: the class c is not one of the training data",
                      self.said_of([good], [other], classes=2, columns=self.COLUMNS))
        self.assertIn("this is no file of a table", self.said_of([self.write("a.txt", "")], [good], classes=2,
                                                                 columns=self.COLUMNS))
        self.assertIn("bad.jsonl:2: this line is no JSON",
                      self.said_of([self.write("bad.jsonl", "{}\n{x}\n")], [good], classes=2, columns=self.COLUMNS))
        self.assertIn("bad.jsonl:3: column kind has no value",
                      self.said_of([self.write("bad.jsonl", '{"x": 1, "kind": 1}\n\n{"x": 2}\n')], [good], classes=2,
                                   columns=self.COLUMNS))
        self.assertIn("bad.jsonl:1: the class ['a'] is no name or number",
                      self.said_of([self.write("bad.jsonl", '{"x": 1, "kind": ["a"]}\n')], [good], classes=2,
                                   columns=self.COLUMNS))
        cut = self.write("cut.csv.gz", gzip.compress(b"x,kind\n1,a\n")[:-4])
        self.assertIn("cut.csv.gz: this file cannot be read", self.said_of([cut], [good], classes=2, columns=self.COLUMNS))
        self.assertIn("the target a is no number", self.said_of([good], [good], columns=self.COLUMNS))

    def test_what_was_prepared_is_read_again_when_a_file_changes(self):
        path = self.write("a.csv", "x,kind\n1,0\n")
        first = self.splits([path], [path], classes=2, columns=self.COLUMNS)[0]
        self.write("a.csv", "x,kind\n1,0\n22,1\n")
        again = self.splits([path], [path], classes=2, columns=self.COLUMNS)[0]
        self.assertEqual((len(first), len(again)), (1, 2))
        self.assertEqual(self.rows(first), [([1], 0)])
        before = sorted((self.folder / "cache").rglob("*.npy"))
        stamps = [path.stat().st_mtime_ns for path in before]
        self.splits([path], [path], classes=2, columns=self.COLUMNS)
        self.assertEqual([path.stat().st_mtime_ns for path in before], stamps)

    def test_processes_that_prepare_at_once_have_the_same_and_leave_nothing(self):
        import multiprocessing
        cache = self.folder / "cache"
        path = self.write("a.csv", "x,kind\n1,0\n")
        self.splits([path], [path], classes=2, columns=self.COLUMNS)
        self.write("a.csv", "x,kind\n1,0\n22,1\n")
        for folder in [each for each in cache.iterdir() if each.is_dir()]:  # as a killed process leaves it
            (cache / f"{folder.name}.making").mkdir()
        context = multiprocessing.get_context("fork")
        together, results = context.Barrier(4), context.SimpleQueue()

        def prepare():
            together.wait(60)
            train, test = self.splits([path], [path], classes=2, columns=self.COLUMNS)
            results.put((len(train), len(test)))

        processes = [context.Process(target=prepare) for _ in range(4)]
        for process in processes:
            process.start()
        for process in processes:
            process.join(120)
            self.assertEqual(process.exitcode, 0)
        self.assertEqual([results.get() for _ in processes], [(2, 2)] * 4)
        self.assertFalse([path.name for path in cache.iterdir() if path.suffix in (".making", ".removing")])


class DivisionTest(DataTest):
    def test_a_share_follows_from_the_number_of_samples_alone(self):
        from scavenger.data.division import divide
        train, test = divide(1000, 0.1)
        self.assertEqual((len(train), len(test)), (900, 100))
        self.assertEqual(sorted([*train, *test]), list(range(1000)))
        order = sorted(range(1000), key=self.splitmix64)
        self.assertEqual(test.tolist(), sorted(order[:100]))
        self.assertLess(abs(test.mean() - 500), 100)
        for count, share in ((5, 0.05), (5, 0.95)):
            with self.assertRaisesRegex(Exception, "samples leaves"):
                divide(count, share)

    def splitmix64(self, number):
        most = 2**64 - 1
        value = (number + 1) * 0x9E3779B97F4A7C15 & most
        value = (value ^ value >> 30) * 0xBF58476D1CE4E5B9 & most
        value = (value ^ value >> 27) * 0x94D049BB133111EB & most
        return value ^ value >> 31

    def test_a_data_set_of_ones_own_is_divided_too(self):
        from scavenger import user_file
        path = self.write("train.py", "def make_model():\n    pass\n\ndef make_dataset(split):\n    return list(range(50))\n")
        file = user_file.load(pathlib.Path(path), {"train": {"format": "python"}, "validation_share": 0.2})
        train, test = file.make_dataset("train"), file.make_dataset("test")
        self.assertEqual((len(train), len(test)), (40, 10))
        self.assertEqual(sorted([train[i] for i in range(40)] + [test[i] for i in range(10)]), list(range(50)))


class LoadingTest(DataTest):
    def test_the_users_file_is_imported_only_if_samples_are_loaded_with_it(self):
        from scavenger import user_file
        from scavenger.loading.loader_process import Datasets, Request, _file_of
        rows = self.write("a.csv", "x,kind\n1,0\n2,1\n")
        source = {"format": "table", "files": [rows]}
        data = {"train": source, "test": source, "classes": 2, "columns": {"label": "kind"}}
        path = pathlib.Path(self.write("train.py", "def make_model():\n    pass\n"))
        self.assertFalse(user_file.is_needed_to_load(user_file.load(path, data)))
        inputs, targets = Datasets(_file_of("", data), 1, 2).load(Request(1, [1, 2], 0))
        self.assertEqual((inputs.tolist(), targets.tolist()), ([[2], [1]], [1, 0]))
        own = pathlib.Path(self.write("own.py", path.read_text() + "def collate(samples):\n    return len(samples)\n"))
        self.assertTrue(user_file.is_needed_to_load(user_file.load(own, data)))
        self.assertEqual(Datasets(_file_of(str(own), data), 1, 2).load(Request(1, [0, 1], 0)), 2)


class ShardsTest(DataTest):
    def make(self, **arguments):
        from scavenger.data import Shards
        self.read = []

        def read(shard):
            self.read.append(shard)
            return iter([f"{shard}{i}" for i in range(3 + shard)])
        return Shards([0, 1, 2, 3], read, **arguments)

    def test_each_epoch_has_each_sample_once_in_another_order(self):
        shards = self.make()
        self.assertEqual(len(shards), 18)
        whole = [shards[i] for i in range(18)]
        shards.use_seed(7)
        epochs = [[shards.at_position(18 * epoch + i)[1] for i in range(18)] for epoch in range(2)]
        self.assertEqual([sorted(epoch) for epoch in epochs], [sorted(whole)] * 2)
        self.assertNotEqual(epochs[0], epochs[1])
        again = self.make(lengths=[3, 4, 5, 6])
        again.use_seed(7)
        self.assertEqual([again.at_position(i)[1] for i in (35, 3, 17)], [epochs[1][17], epochs[0][3], epochs[0][17]])
        number, sample = again.at_position(9)
        self.assertEqual(again[number], sample)

    def test_a_shard_is_read_once_while_it_is_in_use(self):
        shards = self.make(lengths=[3, 4, 5, 6])
        shards.use_seed(1)
        for position in range(18):
            shards.at_position(position)
        self.assertEqual(sorted(self.read), [0, 1, 2, 3])

    def test_a_shard_that_changes_is_named(self):
        shards = self.make(lengths=[3, 4, 4, 6])
        with self.assertRaisesRegex(Exception, "shard 2 has 5 samples, and had 4 before"):
            shards[8]

    def test_the_loader_takes_samples_by_position_and_names_them(self):
        from scavenger import user_file
        from scavenger.loading.loader_process import Datasets, Request
        path = self.write("train.py", "import scavenger.data\ndef make_model():\n    pass\ndef make_dataset(split):\n"
                          "    return scavenger.data.Shards([0, 10], lambda first: range(first, first + 10))\n")
        file = user_file.load(pathlib.Path(path))
        datasets = Datasets(file, 3, 20)
        epoch = datasets.load(Request(1, list(range(20)), 0)).tolist()
        self.assertEqual(sorted(epoch), list(range(20)))
        self.assertEqual(datasets.numbers, epoch)  # sample i of these shards is i
        self.assertEqual(datasets.load(Request(2, [4, 1], 7)).tolist(), epoch[7:9])
        self.assertEqual(datasets.load(Request(3, [20, 25], 0)).tolist(), [0, 5])


@unittest.skipUnless(has("PIL"), "pillow is not installed")
class ImageTest(DataTest):
    SHAPE = {"classes": 2, "sample_shape": [3, 4, 8]}

    def picture(self, color, size=(16, 8), form="PNG", **options):
        from PIL import Image
        content = io.BytesIO()
        Image.new(options.pop("mode", "RGB"), size, color).save(content, form, **options)
        return content.getvalue()

    def folders(self, name="train"):
        for kind, color in (("blue", (0, 0, 255)), ("red", (255, 0, 0))):
            for i in range(3):
                self.write(f"{name}/{kind}/deeper/{i}.png" if i == 1 else f"{name}/{kind}/{i}.PNG", self.picture(color))
        self.write(f"{name}/red/notes.txt", "no image")
        return str(self.folder / name)

    def test_each_folder_is_a_class(self):
        train, test = self.splits([self.folders()], [self.folders("test")], format="image_folder", **self.SHAPE,
                                  normalise={"mean": [0.5, 0, 0], "standard_deviation": [0.5, 1, 1]})
        self.assertEqual([label for _, label in train], [0, 0, 0, 1, 1, 1])
        self.assertEqual(tuple(train[0][0].shape), (3, 4, 8))
        self.assertEqual(train[0][0][:, 0, 0].tolist(), [-1, 0, 1])
        self.assertEqual(train[5][0][:, 3, 7].tolist(), [1, 0, 0])
        self.assertEqual(len(test), 6)

    def test_the_middle_is_cut_out_at_the_images_own_proportions(self):
        import torch
        from PIL import Image
        from scavenger.data.images import ImagePipeline
        image = Image.new("RGB", (32, 8), (0, 0, 0))
        image.paste((255, 255, 255), (10, 0, 22, 8))  # more than the middle quarter, since scaling blurs its edges
        content = io.BytesIO()
        image.save(content, "PNG")
        pipeline = ImagePipeline({"sample_shape": [1, 4, 4]}, False)
        self.assertTrue(torch.equal(pipeline.load(content.getvalue(), "x"), torch.ones(1, 4, 4)))

    def test_cameras_orientation_is_heeded(self):
        from PIL import Image
        from scavenger.data.images import ImagePipeline
        image = Image.new("RGB", (8, 8), (0, 0, 0))
        image.paste((255, 255, 255), (0, 0, 8, 4))  # the upper half
        tags = Image.Exif()
        tags[0x0112] = 3  # turned by 180 degrees
        content = io.BytesIO()
        image.save(content, "PNG", exif=tags)
        found = ImagePipeline({"sample_shape": [1, 8, 8]}, False).load(content.getvalue(), "x")
        self.assertEqual((found[0, 0, 0], found[0, 7, 0]), (0, 1))

    def test_random_changes_follow_from_the_seed_and_are_for_training_alone(self):
        import torch
        self.write("one/a/0.png", self.picture((9, 9, 9)))
        self.write("one/b/0.png", bytes(self.gradient()))
        data = {"format": "image_folder", "classes": 2, "sample_shape": [3, 8, 8],
                "augment": {"flip": True, "crop_padding": 2}}
        train, test = self.splits([str(self.folder / "one")], [str(self.folder / "one")], **data)
        seen = []
        for seed in (1, 1, 2, 3, 4, 5):
            torch.manual_seed(seed)
            seen.append(train[1][0])
        self.assertTrue(torch.equal(seen[0], seen[1]))
        self.assertFalse(all(torch.equal(seen[0], other) for other in seen[2:]))
        self.assertTrue(torch.equal(test[1][0], test[1][0]))

    def gradient(self):
        from PIL import Image
        content = io.BytesIO()
        Image.linear_gradient("L").resize((8, 8)).rotate(90).convert("RGB").save(content, "PNG")
        return content.getvalue()

    def test_wrong_folders_and_images_are_named(self):
        folder = self.folders()
        image = {"format": "image_folder", **self.SHAPE}
        self.assertIn("there are 2 classes, and data.classes is 5", self.said_of([folder], **{**image, "classes": 5},
                                                                              validation_share=0.5))
        (self.folder / "train" / "green").mkdir()
        self.assertIn("green: this folder of a class has no images", self.said_of([folder], **image, validation_share=0.5))
        shutil.rmtree(self.folder / "train" / "green")
        self.write("train/red/0.PNG", b"no image")
        train, _ = self.splits([folder], [folder], **image)
        with self.assertRaises(Exception) as raised:
            [sample for sample in train]
        self.assertIn("red/0.PNG", raised.exception.where)
        self.assertIn("this image cannot be read", raised.exception.what)
        self.write("train/red/0.PNG", self.picture((1, 2, 3))[:45])
        with self.assertRaisesRegex(Exception, "this image cannot be read"):
            train[3]
        self.write("other/red/0.png", self.picture((1, 2, 3)))
        self.write("other/green/0.png", self.picture((1, 2, 3)))
        self.assertIn("differ in the class blue", self.said_of([folder], [str(self.folder / "other")], **image))

    def shard(self, name, samples):
        path = self.folder / name
        with tarfile.open(path, "w") as archive:
            for sample, files in samples:
                for ending, content in files.items():
                    entry = tarfile.TarInfo(f"{sample}.{ending}")
                    entry.size = len(content)
                    archive.addfile(entry, io.BytesIO(content))
        return str(path)

    def test_shards_of_tar_are_read_in_any_order(self):
        blue, red = self.picture((0, 0, 255)), self.picture((255, 0, 0), form="JPEG", quality=95)
        shards = [self.shard("0.tar", [("a/x.1", {}), ("a/x", {"png": blue, "cls": b"sky\n", "json": b"{}"}),
                                       ("a/y", {"cls": b"brick", "jpg": red})]),
                  self.shard("1.tar", [("x", {"png": blue, "cls": b"sky"})])]
        train, test = self.splits(shards, [shards[1]], format="webdataset", **self.SHAPE)
        self.assertEqual([int(label) for _, label in train], [1, 0, 1])
        self.assertEqual([float(train[i][0][2, 0, 0]) for i in (2, 0)], [1, 1])
        self.assertGreater(float(train[1][0][0, 0, 0]), 0.95)
        self.assertEqual([int(label) for _, label in test], [1])
        lacking = self.shard("2.tar", [("x", {"png": blue})])
        self.assertIn("2.tar, sample x: the sample has no target", self.said_of([lacking], shards, format="webdataset",
                                                                              **self.SHAPE))
        self.assertIn("this is no tar file", self.said_of([self.write("3.tar", gzip.compress(b"x" * 999))], shards,
                                                         format="webdataset", **self.SHAPE))

    @unittest.skipUnless(has("pyarrow"), "pyarrow is not installed")
    def test_images_of_the_library_datasets_are_read_where_they_are(self):
        import pyarrow
        folder = self.folder / "saved"
        folder.mkdir()
        pictures = [self.picture((0, 0, 255)), self.picture((255, 0, 0)), self.picture((0, 255, 0))]
        for part, rows in (("data-0.arrow", [0, 1]), ("data-1.arrow", [2])):
            table = pyarrow.table({"image": [{"bytes": pictures[i], "path": None} for i in rows],
                                   "label": [i % 2 for i in rows]})
            with pyarrow.ipc.new_stream(folder / part, table.schema) as stream:
                stream.write_table(table)
        (folder / "state.json").write_text(json.dumps({"_data_files": [{"filename": "data-0.arrow"},
                                                                       {"filename": "data-1.arrow"}]}))
        (folder / "dataset_info.json").write_text(json.dumps(
            {"features": {"label": {"names": ["cool", "warm"], "_type": "ClassLabel"}, "image": {"_type": "Image"}}}))
        train, _ = self.splits([str(folder)], [str(folder)], format="huggingface", **self.SHAPE,
                               columns={"label": "label", "image": "image"})
        self.assertEqual([int(label) for _, label in train], [0, 1, 0])
        self.assertEqual(train[2][0][:, 0, 0].tolist(), [0, 1, 0])


@unittest.skipUnless(has("tokenizers"), "tokenizers is not installed")
class TextTest(DataTest):
    def tokenizer(self):
        from tokenizers import Tokenizer, models, pre_tokenizers
        tokenizer = Tokenizer(models.WordLevel({"[PAD]": 3, "[UNK]": 0, "good": 1, "bad": 2}, unk_token="[UNK]"))
        tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
        path = self.folder / "tokenizer.json"
        tokenizer.save(str(path))
        return {"file": str(path), "max_tokens": 3}

    def test_texts_become_tokens_and_batches_are_padded(self):
        from scavenger.data import reader
        path = self.write("a.csv", 'text,kind\n"good, good",yes\nbad,no\n"bad bad bad bad",no\nNA,no\n')
        made = reader({"train": {"format": "table", "files": [path]}, "test": {"format": "table", "files": [path]},
                       "classes": 2, "columns": {"label": "kind", "text": "text"}, "tokenizer": self.tokenizer()})
        train = made("train")
        self.assertEqual(train[3][0].tolist(), [0])  # "NA" is text
        inputs, targets = made.collate([train[i] for i in range(3)])
        self.assertEqual(inputs["input_ids"].tolist(), [[1, 0, 1], [2, 3, 3], [2, 2, 2]])
        self.assertEqual(inputs["attention_mask"].tolist(), [[1, 1, 1], [1, 0, 0], [1, 1, 1]])
        self.assertEqual(targets.tolist(), [1, 0, 0])

    def test_what_is_no_text_or_no_tokenizer_is_named(self):
        path = self.write("a.jsonl", '{"text": "good", "kind": 0}\n{"text": 3, "kind": 1}\n')
        data = {"classes": 2, "columns": {"label": "kind", "text": "text"}}
        self.assertIn("a.jsonl:2: this is no text: 3", self.said_of([path], [path], **data, tokenizer=self.tokenizer()))
        self.assertIn("this is no tokenizer", self.said_of([path], [path], **data, tokenizer={"file": path}))


class MissingLibraryTest(DataTest):
    def test_a_missing_library_is_one_error_with_its_remedy(self):
        from scavenger.data.sources import require
        from scavenger.problems import UserError
        with self.assertRaises(UserError) as raised:
            require("no_such_library.part", "reading Parquet")
        self.assertIn("reading Parquet needs the library no_such_library", raised.exception.what)
        self.assertEqual(raised.exception.remedy, "install it: python3 -m pip install no_such_library")


if __name__ == "__main__":
    unittest.main()
