"""What the documents name exists (configuration keys, files, folders, links, headings), and prose is wrapped."""

import json
import re

from source_tree import CODE_FOLDERS, CPP_SUFFIXES, Finding, line_of

SCHEMA = "configs/scavenger.schema.json"
# Documents about another kind of configuration.
OTHER_SCHEMAS = {"docs/campaigns.md": "configs/campaign.schema.json"}
# Sections of the configuration whose names begin other things in these documents.
OTHER_THINGS = {
    "docs/design/checkpoint_format.md": ("optimizer",),  # a checkpoint's own "optimizer" and its file
    "docs/gcp.md": ("compute",),  # permissions of Google, such as compute.disks.create
}

WORD = r"[a-z][a-z0-9_]*"
SPAN = re.compile(r"`([^`\n]+)`")
KEY = re.compile(rf"{WORD}(?:\.(?:{WORD}|\d+))+")
SET = re.compile(rf"--set[ =]'?({WORD}(?:\.(?:{WORD}|\d+))*)=")
LINK = re.compile(r"\]\(([^)\s]+)\)")
NAMED_ANCHOR = re.compile(r'<a name="([^"]+)">')
HEADING = re.compile(r"^#+ +(.+?)\s*$", re.MULTILINE)
FENCE = re.compile(r"^ *```.*?^ *```", re.MULTILINE | re.DOTALL)
# With an ending or a slash at its end: "test/loss" may be something else. Capitals stand for any name.
PATH = re.compile(rf"(?<![\w./<~$-])(?:{'|'.join(CODE_FOLDERS)}|configs|docs|scripts)/[\w./-]*(?:\.\w+|\w/)")
PLACEHOLDER = re.compile(r"\b[A-Z]+\b")
SOURCE_NAME = re.compile(r"\w+\.(?:h|cpp|py|sh)")
NO_SOURCES = {"work.h"}  # worker-hours, as a table heads them
ONE_LINK = re.compile(r" *(?:[-*] |\d+\. )?!?\[[^]]*\]\([^)]*\)[.,:;]?")
PROSE_COLUMNS = 100
DOCUMENT_IN_CODE = re.compile(r"(?<![\w./])docs/(?:\w+/)*\w+\.md")


class Schema:
    """Which keys a configuration may have, whatever its other keys say."""

    def __init__(self, text):
        self.root = json.loads(text)
        self.sections = [name for name, node in self.root["properties"].items() if self.properties(node)]

    def has(self, key):
        nodes = [self.root]
        for part in key.split("."):
            nodes = [child for node in nodes for child in self.children(node, part)]
        return bool(nodes)

    def children(self, node, part):
        for choice in self.choices(node):
            if part.isdigit() and "items" in choice:
                yield choice["items"]
            elif part in choice.get("properties", {}):
                yield choice["properties"][part]

    def properties(self, node):
        return any("properties" in choice for choice in self.choices(node))

    def choices(self, node):
        """The node itself and every alternative of it."""
        if not isinstance(node, dict):
            return
        yield node
        if "$ref" in node:
            # What another schema defines is checked where that is used.
            yield from self.choices(self.root["definitions"].get(node["$ref"].rsplit("/", 1)[1]))
        for word in ("oneOf", "anyOf", "allOf"):
            for choice in node.get(word, []):
                yield from self.choices(choice)
        for word in ("if", "then", "else"):
            yield from self.choices(node.get(word))


def named_keys(schema, path, text):
    """(position, key) of what reads as a key of the configuration."""
    sections = [section for section in schema.sections if section not in OTHER_THINGS.get(path, ())]
    for span in SPAN.finditer(text):
        key = KEY.fullmatch(span.group(1))
        if key and key.group().split(".")[0] in sections:
            yield span.start(), key.group()
    for match in SET.finditer(text):
        yield match.start(), match.group(1)


def anchors(text):
    """The headings' anchors as they are made where the documents are read."""
    titles = HEADING.findall(FENCE.sub("", text))
    named = NAMED_ANCHOR.findall(text)
    return {*named, *(re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles)}


def link_findings(tree, path, text):
    for match in LINK.finditer(text):
        target, _, anchor = match.group(1).partition("#")
        if ":" in target:
            continue
        file = (tree.root / path).parent / target if target else tree.root / path
        if not file.exists():
            yield Finding(path, line_of(text, match.start()), f"there is no {target} to link to", "link to what exists")
        elif anchor and anchor not in anchors(file.read_text(encoding="utf-8")):
            yield Finding(path, line_of(text, match.start()), f"{target or path} has no heading #{anchor}",
                          "link to a heading that exists")


def name_findings(tree, path, text):
    for match in PATH.finditer(text):
        if not (tree.root / match.group()).exists() and not PLACEHOLDER.search(match.group()):
            yield Finding(path, line_of(text, match.start()), f"there is no {match.group()}", "name what exists")
    sources = tree.files(".h", ".cpp", ".py", ".sh", folders=(*CODE_FOLDERS, "scripts"))
    known = {name.rsplit("/", 1)[-1] for name in sources}
    for span in SPAN.finditer(text):
        if SOURCE_NAME.fullmatch(span.group(1)) and span.group(1) not in known | NO_SOURCES:
            yield Finding(path, line_of(text, span.start()), f"no source file is called {span.group(1)}",
                          "name what exists")


def long_line_findings(path, text):
    """Lines of prose that are too long to read; tables, code blocks and lines that are one link cannot be wrapped."""
    prose = FENCE.sub(lambda block: "\n" * block.group().count("\n"), text)
    for number, line in enumerate(prose.split("\n"), start=1):
        wrappable = not line.lstrip().startswith("|") and not ONE_LINK.fullmatch(line)
        if len(line) > PROSE_COLUMNS and wrappable:
            yield Finding(path, number, f"{len(line)} columns of prose, and the limit is {PROSE_COLUMNS}", "wrap it")


def findings(tree):
    documents = [*sorted(file.name for file in tree.root.glob("*.md")), *tree.files(".md", folders=("docs",))]
    found = []
    for path in documents:
        text = tree.text(path)
        schema_path = OTHER_SCHEMAS.get(path, SCHEMA)
        schema = Schema(tree.text(schema_path))
        found += [Finding(path, line_of(text, position), f"the configuration has no key {key}", f"name one of {schema_path}")
                  for position, key in named_keys(schema, path, text) if not schema.has(key)]
        found += link_findings(tree, path, text)
        found += name_findings(tree, path, text)
        found += long_line_findings(path, text)
    for path in tree.files(*CPP_SUFFIXES):
        text = tree.text(path)
        found += [Finding(path, line_of(text, match.start()), f"there is no {match.group()}", "name what exists")
                  for match in DOCUMENT_IN_CODE.finditer(text) if not (tree.root / match.group()).exists()]
    return found
