"""A class has at most 25 methods and 20 fields, or says at its head why it has "more than 25 methods" or "more than 20
fields"; a folder has at most 30 files. Constructors count as methods, constants as nothing.
"""

import collections
import re

from source_tree import CODE_FOLDERS, Finding, code_only, line_of

METHOD_LIMIT = 25
FIELD_LIMIT = 20
FILE_LIMIT = 30

CLASS = re.compile(r"\b(?:class|struct|union)\s+(\w+(?:::\w+)*)\s*(?:final\s*)?(?::[^;{(]*)?\{")
NO_MEMBER = re.compile(r"(using|typedef|friend|static_assert|enum|class|struct|union|template\s*<.*>\s*(class|struct))\b")
CONSTANT = re.compile(r"(static|inline)\s+(inline\s+|static\s+)?const(expr)?\b|constexpr\s+static\b")


def members_of(code, start):
    """The declarations of the class whose body begins at `start`, each without what is in its braces."""
    members, current, depth, parentheses = [], "", 0, 0
    for i in range(start, len(code)):
        char = code[i]
        if char == "{":
            current += char if depth == 0 else ""
            depth += 1
        elif char == "}":
            if depth == 0:
                break
            depth -= 1
            # The body of a function ends its declaration; an initializer does not.
            rest = code[i + 1 : i + 100].lstrip()
            if depth == 0 and parentheses == 0 and "(" in current.split("{")[0] and rest[:1] not in (";", ",", "=", ")"):
                members.append(current)
                current = ""
        elif depth == 0:
            parentheses += (char == "(") - (char == ")")
            if char == ";" and parentheses == 0:
                members.append(current)
                current = ""
            else:
                current += char
    return members


def kind_of(member):
    """"method", "field", or nothing for what is neither."""
    text = re.sub(r"^\s*#.*$|\b(public|private|protected)\s*:(?!:)", "", member, flags=re.MULTILINE)
    text = " ".join(text.split())
    if not text or NO_MEMBER.match(text):
        return None
    while re.search(r"<[^<>]*>", text):
        text = re.sub(r"<[^<>]*>", "", text)
    head = re.split(r"=(?!=)(?!\s*(?:default|delete|0)\b)|\{", text)[0]
    if "operator" in text or ("(" in head and not head.startswith("std::function")):
        return "method"
    return None if CONSTANT.match(text) else "field"


def comment_at(text, position):
    """The comment that ends directly above the line of `position`, and the one on that line, in one line."""
    begin = text.rfind("\n", 0, position) + 1
    lines = text[:begin].splitlines()
    comment = [text[begin : text.find("\n", begin)].partition("//")[2]]
    while lines and (lines[-1].lstrip().startswith("//") or lines[-1].startswith("template")):
        comment.insert(0, lines.pop().lstrip("/ "))
    return " ".join(comment)


def class_findings(path, text):
    code = code_only(text)
    for match in CLASS.finditer(code):
        if re.search(r"\benum\s*$", code[: match.start()]):
            continue
        kinds = collections.Counter(kind_of(member) for member in members_of(code, match.end()))
        reason = comment_at(text, match.start())
        for kind, limit in (("method", METHOD_LIMIT), ("field", FIELD_LIMIT)):
            if kinds[kind] > limit and f"more than {limit} {kind}s" not in reason:
                yield Finding(path, line_of(code, match.start()), f"{match[1]} has {kinds[kind]} {kind}s, and {limit} are many",
                              f'take out what comes apart by itself, or say above it why it has "more than {limit} {kind}s"')


def findings(tree):
    found = [finding for path in tree.files(".h", ".cpp") for finding in class_findings(path, tree.text(path))]
    files = (path for path in tree.files(".h", ".cpp", ".py", ".txt", ".js", ".css", ".html", ".inc", folders=CODE_FOLDERS))
    for folder, count in sorted(collections.Counter(path.rpartition("/")[0] for path in files).items()):
        if count > FILE_LIMIT:
            found.append(Finding(folder, 1, f"{count} files, and {FILE_LIMIT} are many", "make folders of what belongs together"))
    return found
