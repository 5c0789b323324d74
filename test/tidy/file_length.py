"""A file has one purpose and fits in the head: at most 500 lines, and a note from 400 on."""

from source_tree import CPP_SUFFIXES, Finding

NOTE_ABOVE = 400
LIMIT = 500


def findings(tree):
    found = []
    for path in tree.files(*CPP_SUFFIXES, ".py"):
        lines = tree.text(path).count("\n")
        if lines > LIMIT:
            found.append(Finding(path, LIMIT + 1, f"{lines} lines, and the limit is {LIMIT}",
                                 "split it by purpose; each part is named by a noun of the domain"))
        elif lines > NOTE_ABOVE:
            print(f"note: {path}: {lines} lines; above {LIMIT} this test fails")
    return found
