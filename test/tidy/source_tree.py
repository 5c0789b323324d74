"""The project's own source files, and what the rules of this folder say about them."""

import dataclasses
import pathlib
import re

CODE_FOLDERS = ("runtime", "noise", "perfmodel", "ps", "cloud_gcp", "kubernetes", "elastic", "md", "apps", "python", "test")
CPP_SUFFIXES = (".h", ".cpp", ".inc")


@dataclasses.dataclass(frozen=True)
class Finding:
    """One place that breaks a rule, and what to do about it."""

    path: str
    line: int
    problem: str
    remedy: str

    def __str__(self):
        return f"{self.path}:{self.line}: {self.problem}\n    remedy: {self.remedy}"


class SourceTree:
    """The files below a root folder. Paths are relative to it, with slashes."""

    def __init__(self, root):
        self.root = pathlib.Path(root)

    def files(self, *suffixes, folders=CODE_FOLDERS):
        found = (path for folder in folders for path in (self.root / folder).rglob("*") if path.is_file())
        return sorted(str(path.relative_to(self.root)) for path in found if path.suffix in suffixes)

    def text(self, path):
        return (self.root / path).read_text(encoding="utf-8")


def folder_of(path):
    """runtime/net/frame.h -> runtime/net: the unit that the layers are made of. All tests are one."""
    return "test" if path.startswith("test/") else path.rpartition("/")[0]


def line_of(text, position):
    return text.count("\n", 0, position) + 1


CPP_TOKEN = re.compile(
    r"""(?P<comment>//[^\n]*|/\*.*?\*/)"""
    r"""|(?P<raw>R"(?P<tag>[^()\s\\]*)\(.*?\)(?P=tag)")"""
    r"""|(?P<string>"(?:\\.|[^"\\\n])*"|(?<![0-9A-Za-z_])'(?:\\.|[^'\\\n])+')""",
    re.DOTALL,
)


def code_only(text):
    """C++ text with comments and what is inside quotes blanked out; every other character stays in its place."""

    def blank(match):
        return re.sub(r"[^\n]", " ", match.group())

    return CPP_TOKEN.sub(blank, text)
