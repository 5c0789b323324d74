"""Folders use only folders of lower layers, and LibTorch stays in one place (docs/design/architecture.md)."""

import re

from source_tree import CPP_SUFFIXES, Finding, folder_of, line_of

# A folder may include from every layer before its own. Folders of one layer do not know each other.
LAYERS = [
    ["runtime/base"],
    ["runtime/vocabulary"],
    ["runtime/schema", "runtime/net", "runtime/training"],
    ["runtime/config", "runtime/http"],
    ["runtime/protocol", "runtime/metrics", "runtime/safetensors", "runtime/collective"],
    ["runtime/process", "runtime/data/readers", "runtime/checkpoint"],
    ["runtime/data", "runtime/provider", "runtime/torch", "runtime/torch/device", "runtime/torch/layers"],
    ["runtime/worker", "runtime/torch/imported", "runtime/torch/c10d",
     "runtime/provider/emulated", "runtime/provider/local", "runtime/provider/slurm", "runtime/provider/ssh"],
    ["runtime/torch/models"],
    ["runtime/torch/trainer"],
    ["noise", "perfmodel/fit", "ps/core", "cloud_gcp/pricing", "md"],
    ["perfmodel/survival", "perfmodel/time", "ps/shard", "cloud_gcp/api", "kubernetes/api"],
    ["perfmodel/epochs", "perfmodel/store", "ps/collective", "ps/shm", "ps/star", "ps/tcp", "cloud_gcp/provider", "kubernetes/provider"],
    ["perfmodel/plan", "ps/host", "ps/process"],
    ["perfmodel/search", "perfmodel/machines"],
    ["elastic/control", "elastic/events", "elastic/model_service", "elastic/page/assets", "elastic/providers"],
    ["elastic/batching", "elastic/history"],
    ["elastic/decisions", "elastic/plan", "elastic/rate", "elastic/report"],
    ["elastic/page", "elastic/search", "elastic/vms"],
    ["elastic/vms/race"],
    ["elastic/coordinator/checkpoints", "elastic/coordinator/commands"],
    ["elastic/coordinator/job"],
    ["elastic/coordinator/advice", "elastic/coordinator/staffing"],
    ["elastic/coordinator/work"],
    ["elastic/coordinator", "elastic/planning"],
    ["elastic/evaluation", "elastic/jobs"],
    ["campaign/config", "campaign/surrogate"],
    ["campaign/result", "campaign/space"],
    ["campaign/core", "campaign/reader"],
    ["campaign/task"],
    ["campaign/run"],
    ["campaign/report"],
    ["apps/command_line", "apps/worker_process"],
    ["apps/worker_library"],
    ["apps"],
]
LEVEL = {folder: level for level, folders in enumerate(LAYERS) for folder in folders}

# A kind of provider is known to nobody but its own folder and who names all kinds. apps/ has commands of its own for
# Compute Engine and Kubernetes.
PROVIDER_KIND = re.compile(r"(runtime/provider/[a-z0-9_]+|cloud_gcp|kubernetes)/")
KNOWS_ALL_KINDS = ("elastic/providers/", "test/")
COMMANDS_OF_A_KIND = {"cloud_gcp": "apps/", "kubernetes": "apps/", "runtime/provider/ssh": "apps/scavenger_ctl.cpp"}

TORCH_FOLDER = "runtime/torch"
USES_TORCH = (TORCH_FOLDER + "/", "apps/", "test/")  # what links LibTorch
# What compiles its headers: 20 seconds a file.
INCLUDES_TORCH = ("runtime/torch/", "test/unit/runtime/torch/", "test/plugin/", "test/bench/reducer/", "test/gpu/device_trace")
GENERATED = ("scavenger_build.h",)

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(["<])([^">]+)[">]', re.MULTILINE)


def project_include(path, line, target):
    source, used = folder_of(path), folder_of(target)
    if target in GENERATED:
        return None
    if used != "test" and used not in LEVEL:
        return Finding(path, line, f'"{target}" is not a path from the project\'s root into a folder of a layer',
                       "write includes from the root; a new folder gets its place in LAYERS of test/tidy/layering.py")
    if (used + "/").startswith(TORCH_FOLDER + "/") and not path.startswith(USES_TORCH):
        return Finding(path, line, f"{source} must build without LibTorch, but includes {target}",
                       "use a port of runtime/training; apps/ puts the implementation in")
    if source == "test":
        return None
    if used == "test":
        return Finding(path, line, f"product code includes the test's {target}", "move what both need out of test/")
    if source not in LEVEL:
        return Finding(path, line, f"{source} has no place in the layers",
                       "give it one in LAYERS of test/tidy/layering.py and docs/design/architecture.md")
    if used != source and LEVEL[used] >= LEVEL[source]:
        where = "beside" if LEVEL[used] == LEVEL[source] else "above"
        return Finding(path, line, f"{source} includes {target}, which is {where} it in the layers",
                       "move what is needed to a lower layer, or pass it in through an interface of a lower layer")
    return None


def provider_include(path, line, target):
    kind = PROVIDER_KIND.match(target)
    if kind is None or path.startswith((kind.group(0), *KNOWS_ALL_KINDS)):
        return None
    if path.startswith(COMMANDS_OF_A_KIND.get(kind.group(1), kind.group(0))):
        return None
    return Finding(path, line, f"{path} knows a kind of provider: {target}",
                   "let what is needed follow from the port or the catalogue (runtime/provider/machine_catalogue.h)")


def library_include(path, line, target):
    if re.match(r"(torch|ATen|c10|caffe2)/", target) and not path.startswith(INCLUDES_TORCH):
        return Finding(path, line, f"<{target}> outside runtime/torch", "keep LibTorch behind the interfaces of runtime/training")
    return None


def findings(tree):
    found = []
    for path in tree.files(*CPP_SUFFIXES):
        text = tree.text(path)
        for match in INCLUDE.finditer(text):
            checks = [project_include, provider_include] if match.group(1) == '"' else [library_include]
            found += [check(path, line_of(text, match.start()), match.group(2)) for check in checks]
    return [finding for finding in found if finding]
