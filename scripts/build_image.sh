#!/usr/bin/env bash
# build_image.sh [OPTIONS]: builds an OCI image with Debian and Scavenger, without any image from elsewhere.
#   --prefix DIR     an installed Scavenger; default: build/release is installed, with LibTorch
#   --wheel FILE     the wheel of scripts/build_wheel.sh in its place, with Python and the PyTorch of --torch
#   --torch FOLDER   site-packages with PyTorch for --wheel; default: that of .venv/
#   --base FOLDER    the root of a Debian system; default: debootstrap makes build/image/base
#   --name NAME:TAG  default: scavenger:VERSION
#   --output FILE    an archive for `skopeo copy`, `podman load`, `ctr image import`; default: build/image/scavenger.tar
# Needs root, buildah and debootstrap (Debian packages). The image has no user but 65532, needs no writable root
# (/tmp and the run folder are mounts), and tells what is in it in /usr/share/scavenger/sbom.spdx.json, which is
# also written beside the archive.
set -euo pipefail
cd "$(dirname "$0")/.."

readonly kSuite=bookworm kPython=3.11 kUser=65532
# Compiled files hold by the content of their source: all files of the image get the same time.
readonly compile_options=(-q --invalidation-mode unchecked-hash)
readonly kMirror=${SCAVENGER_DEBIAN_MIRROR:-http://deb.debian.org/debian}

fail() { echo "build_image.sh: $1; $2" >&2; exit 2; }

prefix= wheel= torch= base= name= output=build/image/scavenger.tar
while [ $# -gt 0 ]; do
  case $1 in
    -h | --help) sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "$0"; exit 0 ;;
    --prefix | --wheel | --torch | --base | --name | --output)
      [ $# -ge 2 ] || fail "$1 needs a value" "see --help"
      declare "${1#--}=$2"
      shift 2 ;;
    *) fail "unknown option $1" "see --help" ;;
  esac
done
[ -z "$prefix" ] || [ -z "$wheel" ] || fail "--prefix and --wheel exclude each other" "leave out one"
[ -z "$wheel" ] || [ -f "$wheel" ] || fail "there is no file $wheel" "build it with scripts/build_wheel.sh"
[ -z "$base" ] || [ -d "$base/var/lib/dpkg" ] || fail "$base is no root of a Debian system" "leave out --base"
[ "$(id -u)" = 0 ] || fail "files in the image belong to root" "run it as root"
command -v buildah >/dev/null || fail "there is no buildah" "apt-get install buildah"
[ -n "$base" ] || command -v debootstrap >/dev/null || fail "there is no debootstrap" "apt-get install debootstrap"

work=$(mktemp -d)
container=
# vfs needs no file system of its own kind, so this works within containers, too.
run_buildah() { buildah --root "$work/storage" --runroot "$work/run" --storage-driver vfs "$@"; }
clean() {
  [ -z "$container" ] || run_buildah rm "$container" >/dev/null 2>&1 || true
  rm -rf "$work"
}
trap clean EXIT

# Without what only people need.
make_base() {
  local root=build/image/base
  [ -z "$wheel" ] || root=build/image/base-python
  base=$root
  [ ! -e "$root/etc/scavenger-base" ] || return 0
  local packages=ca-certificates,libssl3,libsqlite3-0,zlib1g
  [ -z "$wheel" ] || packages+=,python3
  echo "debootstrap: $kSuite from $kMirror"
  rm -rf "$root" "$root.new"
  mkdir -p build/image
  debootstrap --variant=minbase --include="$packages" "$kSuite" "$root.new" "$kMirror" >"$work/debootstrap.log" 2>&1 ||
    fail "debootstrap failed: $(tail -n 1 "$work/debootstrap.log")" "set SCAVENGER_DEBIAN_MIRROR to a mirror that this machine reaches"
  [ -z "$wheel" ] || chroot "$root.new" python3 -m compileall -f "${compile_options[@]}" "/usr/lib/python$kPython"
  rm -rf "$root.new"/var/cache/apt/* "$root.new"/var/lib/apt/lists/* "$root.new"/var/log/* \
    "$root.new"/usr/share/{doc-base,info,locale,man}/* "$root.new"/dev/*
  find "$root.new/usr/share/doc" -type f ! -name copyright -delete
  touch "$root.new/etc/scavenger-base"
  mv "$root.new" "$root"
}

install_prefix() {
  if [ -z "$prefix" ]; then
    [ -e build/release/bin/scavenger-train ] || fail "build/release has no programs" "make build, or give --prefix or --wheel"
    prefix=$work/prefix
    cmake --install build/release --prefix "$prefix" --strip >/dev/null
  fi
  [ -x "$prefix/bin/scavenger-train" ] || fail "$prefix has no bin/scavenger-train" "give the folder of cmake --install"
  mkdir -p "$work/root/opt"
  cp -a --no-preserve=ownership "$prefix" "$work/root/opt/scavenger"
}

# compile_imports FOLDER: a process in a container cannot keep what Python compiles, and would compile PyTorch each
# time, for seconds.
compile_imports() {
  local interpreter=$torch/../../../bin/python  # of a virtual environment
  [ -x "$interpreter" ] || interpreter=python$kPython
  command -v "$interpreter" >/dev/null || fail "there is no $interpreter" "install Python $kPython"
  PYTHONPATH=$1 "$interpreter" -B -S -c 'import sys, scavenger.inspection, scavenger.script_worker, scavenger.trainer
for module in list(sys.modules.values()):
    file = getattr(module, "__file__", None) or ""
    if file.startswith(sys.argv[1]) and file.endswith(".py"): print(file)' "$1" >"$work/imports" ||
    fail "the packages of the image cannot be imported" "see the lines above"
  env -u PYTHONPYCACHEPREFIX "$interpreter" -m compileall "${compile_options[@]}" -s "$work/root" -p / -i "$work/imports"
}

# The packages that PyTorch for a CPU imports, from the folder of --torch, and the wheel.
install_wheel() {
  [ -n "$torch" ] || torch=$(compgen -G "$PWD/.venv/lib/python3*/site-packages" | head -n 1)
  [ -d "$torch/torch" ] || fail "${torch:-.venv} has no PyTorch" "name its site-packages with --torch"
  compgen -G "$torch/torch/_C.cpython-${kPython/./}-*.so" >/dev/null ||
    fail "the PyTorch of $torch is not for Python $kPython, which $kSuite has" "name another with --torch"
  local python=$work/root/opt/scavenger/python package
  mkdir -p "$python" "$work/root/opt/scavenger/bin"
  for package in torch torchgen functorch numpy numpy.libs typing_extensions.py sympy mpmath networkx jinja2 markupsafe fsspec filelock; do
    [ ! -e "$torch/$package" ] || cp -a --no-preserve=ownership "$torch/$package" "$python/"
  done
  for package in torch numpy typing_extensions sympy mpmath networkx jinja2 markupsafe fsspec filelock; do
    compgen -G "$torch/$package-*.dist-info" >/dev/null || continue
    cp -a --no-preserve=ownership "$torch/$package"-*.dist-info "$python/"
  done
  find "$python" -name __pycache__ -prune -exec rm -rf {} +
  rm -rf "$python"/torch/{include,test} "$python"/torch/lib/*test*
  python3 -m zipfile -e "$wheel" "$python"
  compile_imports "$python"
  chmod 755 "$python"/scavenger/bin/*
  local program
  for program in "$python"/scavenger/bin/*; do ln -s "../python/scavenger/bin/${program##*/}" "$work/root/opt/scavenger/bin/"; done
  ln -s python/scavenger/lib "$work/root/opt/scavenger/lib"  # scavenger-python-worker looks beside its folder
}

[ -n "$base" ] || make_base
if [ -n "$wheel" ]; then install_wheel; else install_prefix; fi
version=$(sed -n 's/^project(scavenger VERSION \([0-9.]*\).*/\1/Ip' CMakeLists.txt)
[ -n "$name" ] || name=scavenger:${version:-0}

mkdir -p "$work/root/usr/share/scavenger" "$work/root/runs" "$(dirname "$output")"
chown "$kUser" "$work/root/runs"
python3 scripts/make_sbom.py --base "$base" --root "$work/root" --name "$name" >"$work/root/usr/share/scavenger/sbom.spdx.json"
cp "$work/root/usr/share/scavenger/sbom.spdx.json" "${output%.tar}.spdx.json"

# Debian is a layer of its own, so that a new build of Scavenger moves only its own files.
container=$(run_buildah from scratch)
run_buildah add --quiet "$container" "$base" / >/dev/null
timestamp=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || date +%s)}
run_buildah commit --quiet --format oci --timestamp "$timestamp" "$container" localhost/scavenger-base >/dev/null
run_buildah rm "$container" >/dev/null
container=$(run_buildah from --pull-never localhost/scavenger-base)
run_buildah add --quiet "$container" "$work/root" / >/dev/null
environment=(--env "PATH=/opt/scavenger/bin:/usr/local/bin:/usr/bin:/bin" --env HOME=/runs --env TMPDIR=/tmp)
[ -z "$wheel" ] || environment+=(--env PYTHONPATH=/opt/scavenger/python --env PYTHONDONTWRITEBYTECODE=1)
run_buildah config --user "$kUser:$kUser" --workingdir /runs "${environment[@]}" --cmd '["scavenger-train","--help"]' \
  --label org.opencontainers.image.title=scavenger --label "org.opencontainers.image.version=${version:-0}" "$container"
rm -f "$output"
run_buildah commit --quiet --format oci --timestamp "$timestamp" "$container" "oci-archive:$output:$name" >/dev/null
unpacked=$(du -sb "$base" "$work/root" | awk '{ sum += $1 } END { printf "%.0f", sum / 1e6 }')
echo "$output: $name, $(($(stat -c %s "$output") / 1000000)) MB, $unpacked MB unpacked; ${output%.tar}.spdx.json says what is in it"
