"""What a kubelet makes of the first container of a Pod: its volumes, its environment, and its process on this machine."""

import base64
import os
import pathlib
import shutil
import subprocess

ACCOUNT_FOLDER = "/var/run/secrets/kubernetes.io/serviceaccount"
# root user count [what place mode]... command...
IN_IMAGE = """set -e
root=$1 user=$2 count=$3; shift 3
mount --bind "$root" "$root"
mount -o remount,bind,ro "$root"
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
mount -t tmpfs -o mode=1777 tmpfs "$root/tmp"
while [ "$count" -gt 0 ]; do
  mkdir -p "$root$2"  # it is there, unless it is below one that was mounted before, such as /tmp
  case $1 in
    tmpfs*) mount -t tmpfs -o "mode=1777${1#tmpfs}" tmpfs "$root$2" ;;
    *) mount --bind "$1" "$root$2" ;;
  esac
  [ "$3" = rw ] || mount -o remount,bind,ro "$root$2"
  shift 3
  count=$((count - 1))
done
PATH=$PATH:/usr/sbin:/sbin exec chroot --userspec="$user:$user" "$root" "$@"
"""


def at(word, places, image):
    """Where there are no mounts, folders of volumes and of the image stand in for the paths that begin a word."""
    for place, folder in {**places, **(image or {})}.items():
        if word == place or word.startswith(place + "/"):
            return folder + word[len(place):]
    return word


def inside(root, place):
    """A path of an image, with links as they are for a process that has `root` as its root."""
    done, parts = pathlib.Path("/"), list(pathlib.Path(place).parts[1:])
    while parts:
        part = parts.pop(0)
        step = done.parent if part == ".." else done / part
        if os.path.islink(root + str(step)):
            target = pathlib.Path(os.readlink(root + str(step)))
            done = pathlib.Path("/") if target.is_absolute() else done
            parts = [name for name in target.parts if name != "/"] + parts
        else:
            done = step
    return str(done)


def field_of(pod, path):
    """Of the downward API."""
    value = pod
    for word in path.split("."):
        value = value.get(word, {})
    return value or ""


def user_of(pod):
    security = {**pod["spec"].get("securityContext", {}), **pod["spec"]["containers"][0].get("securityContext", {})}
    return security.get("runAsUser", 65532)


class Containers:
    """`folder`: for what Pods need and write; None: they are only entries. `server`: (address, port) of the API with TLS, and its
    certificate; None: Pods cannot reach it."""

    def __init__(self, store, settings, folder, accounts):
        self.store, self.images, self.folder, self.accounts = store, settings.get("images"), folder, accounts
        self.server = self.certificate = None
        self.tokens = {}  # by uid: (when it is to be replaced, its file, namespace, account)

    def lacks_image(self, image):
        return self.images is not None and image not in self.images

    # ---- Volumes: {place in the container: (what, mode)}. ----

    def volumes(self, pod):
        """None: something is missing. Only mounts of the container count."""
        spec, places = pod["spec"], {}
        mounts = {mount["name"]: mount for mount in spec["containers"][0].get("volumeMounts", [])}
        for volume in spec.get("volumes", []):
            what = self._volume(pod, volume)
            if what is None:
                return None
            mount = mounts.get(volume["name"])
            if mount and what:
                places[mount["mountPath"]] = (what, "ro" if mount.get("readOnly") or "secret" in volume or "configMap" in volume else "rw")
        if spec.get("automountServiceAccountToken", True) and self.server and self.folder:
            places[ACCOUNT_FOLDER] = (self._account_folder(pod), "ro")
        return places

    def _volume(self, pod, volume):
        """None: it is missing; empty: Pods are only entries."""
        namespace = pod["metadata"].get("namespace", "")
        if "hostPath" in volume:
            return volume["hostPath"]["path"]
        if "secret" in volume:
            return self._files(pod, volume, ("secrets", namespace, volume["secret"]["secretName"]), "data", base64.b64decode)
        if "configMap" in volume:
            return self._files(pod, volume, ("configmaps", namespace, volume["configMap"]["name"]), "data", str.encode)
        if "persistentVolumeClaim" in volume:
            return self._claim(pod, ("persistentvolumeclaims", namespace, volume["persistentVolumeClaim"]["claimName"]))
        if "emptyDir" in volume:
            if volume["emptyDir"].get("medium") == "Memory":
                size = volume["emptyDir"].get("sizeLimit")
                return "tmpfs" + (f",size={size.removesuffix('i')}" if size else "")
            return self._make_folder(pod, volume["name"], 0o1777) if self.folder else ""
        return None

    def _make_folder(self, pod, name, mode):
        where = self.folder / pod["metadata"]["uid"] / name
        where.mkdir(parents=True, exist_ok=True)
        where.chmod(mode)
        return str(where)

    def _files(self, pod, volume, key, part, decoded):
        found = self.store.objects.get(key)
        if found is None or not self.folder:
            return None if found is None else ""
        where = self._make_folder(pod, volume["name"], 0o755)
        for name, data in found.get(part, {}).items():
            (pathlib.Path(where) / name).write_bytes(decoded(data))
        return where

    def claim_folder(self, namespace, name):
        return self.folder / "volumes" / namespace / name

    def remove_claim(self, claim):
        """False: not all of it, since something is still writing there."""
        if not self.folder:
            return True
        where = self.claim_folder(claim["metadata"]["namespace"], claim["metadata"]["name"])
        shutil.rmtree(where, ignore_errors=True)
        return not where.exists()

    def _claim(self, pod, key):
        """It is empty when it is made, and stays until the claim is deleted."""
        found = self.store.objects.get(key)
        if found is None or not self.folder:
            return None if found is None else ""
        where, group = self.claim_folder(*key[1:]), pod["spec"].get("securityContext", {}).get("fsGroup")
        if not where.exists():
            where.mkdir(parents=True)
            if group is not None and os.geteuid() == 0:
                os.chown(where, -1, group)
                where.chmod(0o2775)
        if found.get("status", {}).get("phase") != "Bound":
            found["status"] = {"phase": "Bound", "accessModes": found["spec"]["accessModes"], "capacity": found["spec"]["resources"]["requests"]}
            self.store.touch("persistentvolumeclaims", found)
        return str(where)

    # ---- Service accounts. ----

    def _account_folder(self, pod):
        namespace, name = pod["metadata"].get("namespace", "default"), pod["spec"].get("serviceAccountName", "default")
        where = pathlib.Path(self._make_folder(pod, "kube-api-access", 0o755))
        (where / "namespace").write_text(namespace)
        (where / "ca.crt").write_text(pathlib.Path(self.certificate).read_text())
        self._write_token(pod["metadata"]["uid"], where / "token", namespace, name)
        return str(where)

    def _write_token(self, uid, path, namespace, name):
        token, due = self.accounts.issue(namespace, name)
        new = path.with_suffix(".new")
        new.write_text(token)
        new.replace(path)
        self.tokens[uid] = (due, path, namespace, name)

    def renew_tokens(self, now):
        for uid, (due, path, namespace, name) in list(self.tokens.items()):
            if now >= due:
                self._write_token(uid, path, namespace, name)

    # ---- Processes. ----

    def start(self, pod, places):
        """The process; None: Pods are only entries."""
        if not self.folder:
            return None
        container = pod["spec"]["containers"][0]
        image = (self.images or {}).get(container["image"], {})
        words = container.get("command", []) + container.get("args", [])
        own = {item["name"]: item["value"] if "value" in item else field_of(pod, item.get("valueFrom", {}).get("fieldRef", {}).get("fieldPath", "")) for item in container.get("env", [])}
        if self.server:
            host, port = self.server
            own = {"KUBERNETES_SERVICE_HOST": host, "KUBERNETES_SERVICE_PORT": str(port), "KUBERNETES_SERVICE_PORT_HTTPS": str(port)} | own
        if "/" in image:
            words, environment = self._in_image(pod, image, places, words, own)
        else:
            folders = {place: what for place, (what, _) in places.items()}
            words = [at(word, folders, image) for word in words]
            environment = {**os.environ, **{name: at(value, folders, None) for name, value in own.items()}}
        with open(self.folder / f"{pod['metadata']['uid']}.log", "wb") as log:
            return subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True, env=environment)

    @staticmethod
    def _in_image(pod, image, places, words, own):
        """In the root of an unpacked image, which cannot be written, as the user of its security context; /tmp is memory."""
        root = image["/"]
        mounts = []
        for place, (what, mode) in {**{place: (what, "ro") for place, what in image.items() if place != "/"}, **places}.items():
            place = inside(root, place)
            pathlib.Path(root + place).mkdir(parents=True, exist_ok=True)
            mounts += [what, place, mode]
        environment = {"PATH": "/opt/scavenger/bin:/usr/local/bin:/usr/bin:/bin", "HOME": "/tmp", "TMPDIR": "/tmp",
                       **{name: value for name, value in os.environ.items() if name.startswith("SCAVENGER_TEST_")}, **own}
        return ["unshare", "--mount", "--propagation", "private", "sh", "-c", IN_IMAGE, "pod", root, str(user_of(pod)), str(len(mounts) // 3), *mounts, *words], environment

    def forget(self, pod):
        self.tokens.pop(pod["metadata"]["uid"], None)
        if self.folder:
            shutil.rmtree(self.folder / pod["metadata"]["uid"], ignore_errors=True)

    def log_path(self, pod):
        return self.folder / f"{pod['metadata']['uid']}.log" if self.folder else None
