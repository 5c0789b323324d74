"""Words and calls that have a better replacement here."""

import re

from source_tree import CPP_SUFFIXES, Finding, code_only, line_of

HEADERS = re.compile(r"\.h$")
PRODUCT = re.compile(r"^(?!test/)")
EVERYWHERE = re.compile("")
# (pattern, which files, files that may, problem, remedy)
BANNED = [
    (r"\bsystem_clock\b", EVERYWHERE, r"^runtime/base/(clock|log)\.", "system_clock: it jumps when somebody sets the time",
     "measure with Clock of runtime/base/clock.h; wall time comes from there, too"),
    # Real sockets, beside Asio's timers; each place says why.
    (r"\b(steady|high_resolution)_clock\b|\bclock_type\b", PRODUCT,
     r"^runtime/base/clock\.cpp|^runtime/net/(authentication\.cpp|frame_connection\.cpp|job_listener\.)|^elastic/page/live_page\.cpp",
     "a clock that no simulation and no test can set", "take a Clock of runtime/base/clock.h; a main makes the SteadyClock"),
    (r"(?<![\w.>])(std::)?s?rand(om)?\s*\(|\bstd::(random_shuffle|shuffle)\b|\bstd::\w+_distribution\b", PRODUCT,
     r"^runtime/base/random\.", "randomness that depends on the standard library or on hidden state",
     "use the seeded streams of runtime/base/random.h: the same numbers on every machine"),
    (r"\b(sleep_for|sleep_until|usleep|nanosleep)\b", PRODUCT, r"^$", "a sleep blocks its thread and cannot be cancelled",
     "wait on a timer, a condition with a deadline, or a stop token"),
    (r"\busing\s+namespace\b", HEADERS, r"^$", "using namespace in a header reaches everybody who includes it",
     "write the names out, or open the namespace"),
    (r"\bstd::(cout|cerr)\b|(?<![\w:.])(std::)?printf\s*\(", PRODUCT, r"^apps/|^runtime/base/check\.cpp",
     "a library writes to the terminal", "use runtime/base/log.h, or take the stream as a parameter"),
    (r"\.dump\(|\b(ordered_)?json::parse\(", PRODUCT, r"^runtime/base/json_text\.", "a second reader or writer of JSON",
     "use json_text() and parse_json() of runtime/base/json_text.h, which compile them once"),
    # It may hang in a library for ever, and the process that it hangs in must end all the same.
    (r"\.\s*detach\s*\(\s*\)", EVERYWHERE, r"^runtime/collective/group_collective\.cpp", "a detached thread outlives what it uses", "own it in a std::jthread"),
]


def findings(tree):
    found = []
    for path in tree.files(*CPP_SUFFIXES):
        text = tree.text(path)
        code = code_only(text)
        for pattern, where, allowed, problem, remedy in BANNED:
            if where.search(path) and not re.search(allowed, path):
                found += [Finding(path, line_of(code, match.start()), problem, remedy)
                          for match in re.finditer(pattern, code)]
        found += [Finding(path, line_of(text, match.start()), f"{match.group()}: work that is left for nobody",
                          "do it, or open an issue and leave the word out")
                  for match in re.finditer(r"\b(TODO|FIXME|XXX)\b", text)]
        if path.endswith(".h") and not re.search(r"^#pragma once$", text, re.MULTILINE):
            found.append(Finding(path, 1, "a header without #pragma once", "add it below the first comment"))
    return found
