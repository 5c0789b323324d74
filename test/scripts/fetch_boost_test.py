"""What of a Boost archive is unpacked, and where to."""

import io
import pathlib
import sys
import tarfile
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts"))
import fetch_boost  # noqa: E402


def unpacked(*names):
    """The files that unpack_headers writes for an archive of files with these names."""
    with tempfile.TemporaryDirectory() as scratch:
        archive_path, folder = pathlib.Path(scratch, "archive"), pathlib.Path(scratch, "deep/headers")
        with tarfile.open(archive_path, "w:xz") as archive:
            for name in names:
                archive.addfile(tarfile.TarInfo(name), io.BytesIO())
        fetch_boost.unpack_headers(archive_path, folder)
        return sorted(str(path.relative_to(scratch)) for path in pathlib.Path(scratch).rglob("*.hpp"))


class FetchBoostTest(unittest.TestCase):
    def test_headers_of_the_release_are_unpacked(self):
        self.assertEqual(unpacked("boost_1_81_0/boost/asio/ip.hpp", "boost_1_81_0/libs/asio/test/a.hpp"),
                         ["deep/headers/boost/asio/ip.hpp"])

    def test_headers_of_debians_sources_are_unpacked(self):
        names = ("boost/libs/asio/include/boost/asio.hpp", "boost/libs/numeric/ublas/include/boost/u.hpp")
        self.assertEqual(unpacked(*names), ["deep/headers/boost/asio.hpp", "deep/headers/boost/u.hpp"])

    def test_a_name_that_leads_out_of_the_folder_is_left_out(self):
        self.assertEqual(unpacked("top/boost/../../../evil.hpp"), [])


if __name__ == "__main__":
    unittest.main()
