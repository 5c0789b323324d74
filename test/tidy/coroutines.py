"""No lambda and no braces inside a co_await expression, and no coroutine whose failure is dropped.

g++ 12 destroys such temporaries twice when the coroutine suspends (a double free; measured with 12.2, at -O0 and -O2).
"""

import re

from source_tree import CPP_SUFFIXES, Finding, code_only, line_of

# std::size_t{8} has no destructor to run twice. An empty type has none either, but the scanner does not know types.
SCALAR_BRACES = re.compile(r"\b(?:std::)?(?:u?int(?:\d+_t)?|size_t|bool|float|double)\{[^{}]*\}")


def awaited_expression(code, start):
    """From `start` to the semicolon, or the bracket that closes what the expression stands in."""
    depth = 0
    for position in range(start, len(code)):
        character = code[position]
        if character in "([{":
            depth += 1
        elif character in ")]}":
            depth -= 1
        if depth < 0 or (character == ";" and depth == 0):
            return code[start:position]
    return code[start:]


def findings(tree):
    found = []
    for path in tree.files(*CPP_SUFFIXES):
        code = SCALAR_BRACES.sub(lambda scalar: " " * len(scalar.group()), code_only(tree.text(path)))
        for match in re.finditer(r"\bco_await\b", code):
            expression = awaited_expression(code, match.end())
            brace = expression.find("{")
            if brace >= 0:
                found.append(
                    Finding(path, line_of(code, match.end() + brace), "a lambda or braces inside a co_await expression",
                            "name the object on the line before, and std::move it in (g++ 12 destroys it twice)"))
        for match in re.finditer(r"\basio::detached\b", code):
            if not path.startswith("test/"):
                found.append(
                    Finding(path, line_of(code, match.start()), "asio::detached loses what the coroutine throws",
                            "use spawn() of runtime/net/spawn.h"))
    return found
