"""Checks JSON documents against the messages of google/cloud/compute/v1/compute.proto: field names, and how values are written."""

import re

SCOPE = re.compile(r"^\s*(message|enum) (\w+) \{")
FIELD = re.compile(r"^\s+(repeated |optional )?(map<string, ([\w.]+)>|[\w.]+) (\w+) = \d+")


def camel_case(name):
    first, *others = name.split("_")
    return first + "".join(other[:1].upper() + other[1:] for other in others)


class Messages:
    """Each message by its name, with its fields in JSON's words. Nested messages: "Outer.Inner"."""

    def __init__(self, path):
        self._fields = {}
        self._enumerations = set()
        scopes = []  # (indent, name)
        with open(path, encoding="utf-8") as file:
            for line in file:
                indent = len(line) - len(line.lstrip())
                if line.strip() == "}" and scopes and scopes[-1][0] == indent:
                    scopes.pop()
                    continue
                opened = SCOPE.match(line)
                if opened:
                    scopes.append((indent, opened.group(2)))
                    name = ".".join(scope[1] for scope in scopes)
                    if opened.group(1) == "enum":
                        self._enumerations.add(name)
                    else:
                        self._fields[name] = {}
                    continue
                field = FIELD.match(line) if scopes else None
                if field:
                    label, kind, mapped, name = field.groups()
                    shape = "map" if mapped else "list" if label == "repeated " else "one"
                    self._fields[".".join(scope[1] for scope in scopes)][camel_case(name)] = (shape, mapped or kind)

    def faults(self, message, document, place=""):
        """What is wrong with a document, each with its place."""
        if not isinstance(document, dict):
            return [f"{place or message}: not an object"]
        found = []
        for name, value in document.items():
            where = f"{place}.{name}" if place else f"{message}.{name}"
            if name not in self._fields[message]:
                found.append(f"{where}: {message} has no such field")
                continue
            shape, kind = self._fields[message][name]
            values = value.values() if shape == "map" and isinstance(value, dict) else value if shape == "list" and isinstance(value, list) \
                else [value] if shape == "one" else None
            if values is None:
                found.append(f"{where}: it is a {shape}")
                continue
            for item in values:
                found += self._value_faults(message, kind, item, where)
        return found

    def _value_faults(self, message, kind, value, where):
        nested = next((name for name in (f"{message}.{kind}", kind) if name in self._fields or name in self._enumerations), None)
        if nested in self._fields:
            return self.faults(nested, value, where)
        wanted = {"string": str, "bool": bool, "int32": int, "uint32": int, "double": (int, float), "float": (int, float),
                  "int64": str, "uint64": str}.get(kind, str)  # enumerations and 64-bit integers are strings
        is_right = isinstance(value, wanted) and (kind == "bool" or not isinstance(value, bool))
        return [] if is_right else [f"{where}: {value!r} is no {kind}"]
