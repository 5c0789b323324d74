"""A header names the standard headers of what it uses, and a .cpp includes the header of its name first.

So no file leans on what others happen to include. scripts/check_code.py compiles headers by themselves, which takes a
second for each, and does not see what another header includes by chance.
"""

import pathlib
import re

from source_tree import Finding, code_only, line_of

# std::size_t and std::ptrdiff_t are left out: each header of a container or a string defines them.
HEADERS = {
    "algorithm": "any_of all_of none_of clamp max min max_element min_element find_if sort copy_n fill",
    "array": "array",
    "atomic": "atomic",
    "bit": "bit_cast",
    "chrono": "chrono",
    "cmath": "exp isfinite isnan log pow sqrt",
    "condition_variable": "condition_variable",
    "cstddef": "byte",
    "cstdint": "int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t",
    "deque": "deque",
    "exception": "exception exception_ptr current_exception",
    "filesystem": "filesystem",
    "functional": "function",
    "future": "future promise",
    "initializer_list": "initializer_list",
    "limits": "numeric_limits",
    "list": "list",
    "map": "map multimap",
    "memory": "make_shared make_unique shared_ptr unique_ptr weak_ptr",
    "mutex": "lock_guard mutex scoped_lock unique_lock",
    "numeric": "accumulate",
    "optional": "nullopt optional",
    "queue": "priority_queue queue",
    "regex": "regex",
    "set": "multiset set",
    "span": "span as_bytes",
    "stdexcept": "invalid_argument logic_error runtime_error",
    "string": "string to_string",
    "string_view": "string_view",
    "system_error": "error_code",
    "thread": "jthread thread",
    "tuple": "tuple",
    "unordered_map": "unordered_map",
    "unordered_set": "unordered_set",
    "utility": "exchange move pair",
    "variant": "monostate variant visit",
    "vector": "vector",
}
HEADER_OF = {name: header for header, names in HEADERS.items() for name in names.split()}
INCLUDE = re.compile(r'^#include (?:<([^>]+)>|"([^"]+)")', re.MULTILINE)


def findings(tree):
    found = []
    for path in tree.files(".h"):
        text = tree.text(path)
        code = code_only(text)
        included = {match[1] for match in INCLUDE.finditer(text)}
        missing = {}
        for match in re.finditer(r"\bstd::(\w+)", code):
            header = HEADER_OF.get(match[1])
            if header and header not in included:
                missing.setdefault(header, match)
        found += [Finding(path, line_of(code, match.start()), f"{match.group()} without <{header}>", f"#include <{header}>")
                  for header, match in sorted(missing.items())]
    headers = set(tree.files(".h"))
    for path in tree.files(".cpp"):
        own = str(pathlib.PurePosixPath(path).with_suffix(".h"))
        first = INCLUDE.search(tree.text(path))
        if own in headers and first and first[2] != own:
            found.append(Finding(path, line_of(tree.text(path), first.start()), f"{own} is not included first",
                                 "move it before the others, with an empty line behind it"))
    return found
