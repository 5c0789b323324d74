"""The files of an image of scripts/build_image.sh, as a container's run-time sees them: oci_image.py ARCHIVE FOLDER unpacks it."""

import json
import pathlib
import subprocess
import sys
import tarfile


def unpack(archive, folder):
    """Puts the layers of an OCI archive into the folder, one over the other; returns the image's manifest and its configuration."""
    pathlib.Path(folder).mkdir(parents=True, exist_ok=True)
    with tarfile.open(archive) as outer:
        def name_of(item):
            return "blobs/" + item["digest"].replace(":", "/")

        manifest = json.load(outer.extractfile(name_of(json.load(outer.extractfile("index.json"))["manifests"][0])))
        for layer in manifest["layers"]:
            with subprocess.Popen(["tar", "-x", "-C", folder], stdin=subprocess.PIPE) as process:
                source = outer.extractfile(name_of(layer))
                while block := source.read(1 << 20):
                    process.stdin.write(block)
                process.stdin.close()
                if process.wait() != 0:
                    raise OSError(f"tar cannot unpack {layer['digest']}")
        return manifest, json.load(outer.extractfile(name_of(manifest["config"])))


if __name__ == "__main__":
    unpack(*sys.argv[1:3])
