#!/usr/bin/env python3
"""Writes what is in an image as SPDX 2.3: make_sbom.py --base ROOT --root ROOT --name NAME

Of the base the packages of Debian, and of what comes on top Scavenger, each of its files with its digest, and the Python packages.
"""

import argparse
import datetime
import email.parser
import hashlib
import json
import os
import pathlib
import re
import subprocess
import urllib.parse


def spdx_id(*parts):
    return "SPDXRef-" + re.sub(r"[^A-Za-z0-9.-]", "-", "-".join(parts))


def package(name, version, kind, purl, supplier="NOASSERTION"):
    return {"SPDXID": spdx_id(kind, name, version), "name": name, "versionInfo": version, "supplier": supplier, "downloadLocation": "NOASSERTION",
            "filesAnalyzed": False, "licenseConcluded": "NOASSERTION", "licenseDeclared": "NOASSERTION", "copyrightText": "NOASSERTION",
            **({"externalRefs": [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": purl}]} if purl else {})}


def debian_packages(base):
    status = base / "var/lib/dpkg/status"
    for entry in status.read_text(errors="replace").split("\n\n"):
        fields = dict(re.findall(r"^([A-Za-z-]+): (.*)$", entry, re.M))
        if fields.get("Status") != "install ok installed":
            continue
        version = urllib.parse.quote(fields["Version"], safe="")
        yield package(fields["Package"], fields["Version"], "deb", f"pkg:deb/debian/{fields['Package']}@{version}?arch={fields['Architecture']}",
                      f"Person: {fields['Maintainer'].split(' <')[0]}" if "Maintainer" in fields else "NOASSERTION")


def python_packages(root):
    for metadata in sorted(root.rglob("*.dist-info/METADATA")):
        fields = email.parser.Parser().parsestr(metadata.read_text(errors="replace"), headersonly=True)
        name, version = fields["Name"], fields["Version"]
        yield package(name, version, "pypi", f"pkg:pypi/{name.lower()}@{urllib.parse.quote(version, safe='')}")


def digest_of(path, kind):
    digest = hashlib.new(kind)
    with open(path, "rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def files_of(root):
    """The programs and libraries of Scavenger; what Python packages consist of is in their own records."""
    for path in sorted((root / "opt/scavenger").rglob("*")):
        if path.is_file() and not path.is_symlink() and "python" not in path.relative_to(root).parts[:3]:
            place = "./" + str(path.relative_to(root))
            yield {"SPDXID": spdx_id("file", place), "fileName": place, "copyrightText": "NOASSERTION", "licenseConcluded": "NOASSERTION",
                   "checksums": [{"algorithm": name.upper(), "checksumValue": digest_of(path, name)} for name in ("sha1", "sha256")]}


def scavenger(version, files):
    """The package that the files are of. Its verification code is that of SPDX 2.3, 7.9: of the digests of all of them."""
    digests = sorted(checksum["checksumValue"] for file in files for checksum in file["checksums"] if checksum["algorithm"] == "SHA1")
    code = hashlib.sha1("".join(digests).encode()).hexdigest()
    return package("scavenger", version, "product", None) | {"filesAnalyzed": True, "packageVerificationCode": {"packageVerificationCodeValue": code}}


def version_of(root):
    program = root / "opt/scavenger/bin/scavenger-train"
    said = subprocess.run([program, "--version"], capture_output=True, text=True, check=False).stdout.split(maxsplit=1) if program.exists() else []
    return said[1].strip() if len(said) > 1 else "unknown"


def main():
    parser = argparse.ArgumentParser(description="Writes what is in an image as SPDX 2.3.")
    parser.add_argument("--base", type=pathlib.Path, required=True)
    parser.add_argument("--root", type=pathlib.Path, required=True)
    parser.add_argument("--name", required=True)
    arguments = parser.parse_args()
    made = datetime.datetime.fromtimestamp(int(os.environ.get("SOURCE_DATE_EPOCH", datetime.datetime.now().timestamp())), datetime.timezone.utc)
    version, files = version_of(arguments.root), list(files_of(arguments.root))
    image = package(arguments.name, version, "image", None)
    product = [scavenger(version, files)] if files else []
    parts = [*product, *debian_packages(arguments.base), *python_packages(arguments.root)]
    content = hashlib.sha256(json.dumps([parts, files], sort_keys=True).encode()).hexdigest()
    relations = [("SPDXRef-DOCUMENT", "DESCRIBES", image["SPDXID"])] + [(image["SPDXID"], "CONTAINS", part["SPDXID"]) for part in parts]
    relations += [(one["SPDXID"], "CONTAINS", file["SPDXID"]) for one in product for file in files]
    print(json.dumps({
        "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": arguments.name,
        "documentNamespace": f"https://spdx.org/spdxdocs/scavenger-{content}",
        "creationInfo": {"created": made.strftime("%Y-%m-%dT%H:%M:%SZ"), "creators": ["Tool: scavenger-make_sbom"]},
        "packages": [image, *parts], "files": files,
        "relationships": [{"spdxElementId": one, "relationshipType": kind, "relatedSpdxElement": other} for one, kind, other in relations],
    }, indent=1))


if __name__ == "__main__":
    main()
