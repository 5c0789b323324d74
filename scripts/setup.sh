#!/usr/bin/env bash
# Makes a machine able to build and run Scavenger: `scripts/setup.sh`, and `--test` for what the tests need besides.
#
# It asks for each thing by what the build looks for (a tool, a pkg-config name, a file), so it is quick and silent where
# all is there, whoever put it there. What is missing it installs from the distribution (Debian 12+, Ubuntu 22.04+;
# root or sudo), LibTorch and the tests' Python packages into .venv/ in the project folder. On another system it prints
# the list of what is needed. Exit codes: 0 all there, 1 an installation failed, 2 wrong usage, 3 unsupported system.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

readonly kTorchVersion=2.13.0
readonly kOsRelease=${SCAVENGER_OS_RELEASE:-/etc/os-release}  # another file only in our own test
readonly kFashionMnist=/usr/share/datasets/fashion-mnist
export LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive PIP_DISABLE_PIP_VERSION_CHECK=1

say() { echo "setup: $*"; }
fail() { echo "setup: error: $1" >&2; echo "setup: remedy: $2" >&2; exit "${3:-1}"; }

# kind | what the build looks for | Debian/Ubuntu package | why
readonly kRequirements='
tool|g++|g++|compiles C++20
tool|cmake|cmake|describes the build (3.22 or newer)
tool|ninja|ninja-build|runs the build
tool|ccache|ccache|makes a second build quick
tool|git|git|names the commit in --version
tool|make|make|the commands make train and make test
tool|pkg-config|pkg-config|tells which libraries are here
tool|python3|python3|gets LibTorch; runs the tests
library|fmt|libfmt-dev|text formatting
library|spdlog|libspdlog-dev|logs
library|nlohmann_json|nlohmann-json3-dev|configurations, events, reports
library|CLI11|libcli11-dev|command lines
library|openssl|libssl-dev|checksums, secrets, TLS
library|zlib|zlib1g-dev|compressed data sets
library|sqlite3|libsqlite3-dev|the store of measurements
library|catch2|catch2|unit tests
boost|Boost 1.81|libboost1.81-dev|network and event loop (Asio, Beast)
file|'$kFashionMnist'/train-images-idx3-ubyte.gz|dataset-fashion-mnist|the images that the default job learns
'

# --- What is here ----------------------------------------------------------------------------------------------

has_boost() {
  local root
  for root in "${BOOST_ROOT:+$BOOST_ROOT/include}" "${BOOST_ROOT:-}" .deps/boost /usr/local/include /usr/include; do
    [ -n "$root" ] && [ -f "$root/boost/version.hpp" ] || continue
    [ "$(sed -n 's/^#define BOOST_VERSION //p' "$root/boost/version.hpp")" -ge 108100 ] && return 0
  done
  return 1
}

is_here() {  # is_here KIND NAME
  case $1 in
    tool) command -v "$2" >/dev/null ;;
    library) command -v pkg-config >/dev/null && pkg-config --exists "$2" ;;
    boost) has_boost ;;
    file) [ -e "$2" ] ;;
  esac
}

missing_requirements() {  # the lines of the table that are not met
  local kind name package why
  while IFS='|' read -r kind name package why; do
    [ -z "$kind" ] || is_here "$kind" "$name" || echo "$kind|$name|$package|$why"
  done <<<"$kRequirements"
}

# --- Distribution packages -------------------------------------------------------------------------------------

is_supported_system() {
  [ -r "$kOsRelease" ] && command -v apt-get >/dev/null || return 1
  local id version
  id=$(. "$kOsRelease" && echo "${ID:-}")
  version=$(. "$kOsRelease" && echo "${VERSION_ID:-999}")  # Debian testing has none
  version=${version/./}
  case $id in
    debian) [ "$version" -ge 12 ] ;;
    ubuntu) [ "$version" -ge 2204 ] ;;
    *) return 1 ;;
  esac
}

print_needs() {
  local kind name package why
  echo "This system is not Debian 12+ or Ubuntu 22.04+, so nothing was installed. Scavenger needs (Debian's package name, what for):"
  while IFS='|' read -r kind name package why; do
    [ -z "$kind" ] || printf '  %-9s %-14s %-22s %s\n' \
      "$(is_here "$kind" "$name" && echo 'here' || echo 'MISSING')" "$(basename "$name")" "$package" "$why"
  done <<<"$kRequirements"
  echo "  and LibTorch 2.6 or newer: Torch_DIR=..., or an active Python with torch, or a Python with venv to fetch it."
  echo "Install them and run this again: it goes on when all are here. The data set can also be fetched from"
  echo "https://github.com/zalandoresearch/fashion-mnist into $kFashionMnist."
}

as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"; return; fi
  command -v sudo >/dev/null || fail "installing packages needs root, and there is no sudo" \
    "run as root: apt-get install $(missing_requirements | cut -d'|' -f3 | tr '\n' ' ')"
  sudo --preserve-env=DEBIAN_FRONTEND,LC_ALL "$@"
}

apt_log=
apt_get() {
  [ -n "$apt_log" ] || apt_log=$(mktemp "${TMPDIR:-/tmp}/scavenger-setup-apt.XXXXXX")
  as_root apt-get -qq -o Dpkg::Use-Pty=0 -o DPkg::Lock::Timeout=300 "$@" </dev/null >>"$apt_log" 2>&1
}

packages_updated=no
update_package_lists() {
  [ "$packages_updated" = no ] || return 0
  say "reading the distribution's package lists"
  apt_get update || say "warning: some package lists could not be read (see $apt_log); going on with the others"
  packages_updated=yes
}

install_packages() {  # install_packages PACKAGE...
  update_package_lists
  apt_get install --no-install-recommends "$@" \
    || { tail -n 15 "$apt_log" >&2; fail "apt-get could not install: $*" "see the lines above and $apt_log, then run this again"; }
}

# Ubuntu 24.04 and Debian 13 have a newer Boost as their default; Ubuntu 22.04 has 1.74 only, and gets the headers here.
boost_package() {
  if [ -n "$(apt-cache madison libboost1.81-dev 2>/dev/null)" ]; then echo libboost1.81-dev; return; fi
  local version
  version=$(apt-cache policy libboost-dev | sed -n 's/^ *Candidate: //p')
  if dpkg --compare-versions "${version:-0}" ge 1.81; then echo libboost-dev; fi
}

fetch_boost_headers() {
  say "fetching the headers of Boost 1.81 (about 100 MB) into .deps/boost: this distribution's Boost is too old"
  mkdir -p .deps
  python3 scripts/fetch_boost.py .deps/boost \
    || fail "Boost 1.81 could not be fetched" "put the headers of Boost 1.81 or newer anywhere and set BOOST_ROOT"
}

install_missing() {
  local missing packages=() kind name package why
  missing=$(missing_requirements)
  [ -n "$missing" ] || return 0
  is_supported_system || { print_needs; exit 3; }
  update_package_lists
  while IFS='|' read -r kind name package why; do
    [ "$kind" != boost ] || package=$(boost_package)
    [ -n "$package" ] || continue
    say "installing $package: $why"
    packages+=("$package")
  done <<<"$missing"
  [ ${#packages[@]} = 0 ] || install_packages "${packages[@]}"
  has_boost || { install_packages ca-certificates; fetch_boost_headers; }
  missing=$(missing_requirements)
  [ -z "$missing" ] || fail "still missing after the installation: $(cut -d'|' -f2 <<<"$missing" | tr '\n' ' ')" \
    "install what provides it for the compiler and pkg-config that come first in PATH"
}

# --- Python packages and LibTorch ------------------------------------------------------------------------------

active_python() {  # the Python of an activated environment, else the first in PATH
  if [ -x "${VIRTUAL_ENV:-}/bin/python" ]; then echo "$VIRTUAL_ENV/bin/python"; else command -v python3; fi
}

given_torch() {  # where Torch_DIR or CMAKE_PREFIX_PATH point, if LibTorch is there
  local prefix
  local IFS=:
  [ ! -f "${Torch_DIR:-}/TorchConfig.cmake" ] || { echo "$Torch_DIR"; return; }
  for prefix in ${CMAKE_PREFIX_PATH:-}; do
    for prefix in "$prefix/share/cmake/Torch" "$prefix/Torch"; do
      [ ! -f "$prefix/TorchConfig.cmake" ] || { echo "$prefix"; return; }
    done
  done
}

python_torch() { "$1" scripts/locate_torch.py 2>/dev/null; }

# pip writes INSTALLER last: without it an installation was interrupted.
venv_torch() { compgen -G '.venv/lib/python3*/site-packages/torch-*.dist-info/INSTALLER' >/dev/null && python_torch .venv/bin/python; }

make_venv() {
  if [ -x .venv/bin/python ] && .venv/bin/python -m pip --version >/dev/null 2>&1; then return; fi
  local python
  python=$(active_python)
  if ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
    is_supported_system || fail "$python has no venv module" "install it (Debian: python3-venv)" 3
    say "installing python3-venv: the folder .venv/ for Python packages"
    install_packages python3-venv
    python=/usr/bin/python3
  fi
  say "making .venv/ with $("$python" --version): Python packages stay inside the project folder"
  rm -rf .venv
  "$python" -m venv .venv || fail "$python could not make .venv" "see the lines above"
}

# A CUDA build of LibTorch can only be compiled against where the CUDA toolkit is.
wants_cuda() { command -v nvidia-smi >/dev/null && nvidia-smi -L >/dev/null 2>&1 && command -v nvcc >/dev/null; }

install_torch() {
  # Python compiles what it imports when it does; torch has thousands of files that nobody imports here.
  local pip=(.venv/bin/python -m pip install --quiet --no-input --no-compile) wheel="torch==$kTorchVersion+cpu"
  make_venv
  if wants_cuda; then
    say "installing torch $kTorchVersion with CUDA into .venv/ (about 3 GB): LibTorch trains the networks"
    "${pip[@]}" "torch==$kTorchVersion" || fail "pip could not install torch $kTorchVersion" "see the lines above"
    return
  fi
  [ "$(uname -m)" = x86_64 ] || wheel="torch==$kTorchVersion"  # PyPI's wheels for other machines are CPU builds
  say "installing torch $kTorchVersion, CPU build, into .venv/ (about 200 MB to fetch): LibTorch trains the networks"
  if "${pip[@]}" "$wheel" 2>/dev/null; then return; fi  # from an index or folder that pip is configured for
  "${pip[@]}" --timeout 20 --retries 2 --index-url https://download.pytorch.org/whl/cpu \
    --extra-index-url https://pypi.org/simple "$wheel" \
    || fail "pip could not install $wheel" "see the lines above; or download the wheel and set PIP_FIND_LINKS to its folder"
}

provide_torch() {
  torch_folder=$(given_torch)
  [ -n "$torch_folder" ] || torch_folder=$(python_torch "$(active_python)") || torch_folder=$(venv_torch) || {
    install_torch
    torch_folder=$(venv_torch) || fail "torch was installed, but .venv/ has no TorchConfig.cmake" "delete .venv/ and run this again"
  }
}

# What single tests need: a browser for the pages, who scrapes their metrics, sshd, Slurm, what packs bundles and
# what builds images.
provide_test_programs() {
  local program package service
  is_supported_system || return 0
  for program in chromium-headless-shell:chromium-headless-shell prometheus:prometheus sshd:openssh-server \
                 slurmctld:slurm-wlm munged:munge curl:curl openssl:openssl buildah:buildah xz:xz-utils ip:iproute2; do
    package=${program#*:}
    ! PATH=$PATH:/usr/sbin command -v "${program%:*}" >/dev/null && ! { [ "$package" = chromium-headless-shell ] && command -v chromium >/dev/null; } || continue
    update_package_lists
    if [ -z "$(apt-cache madison "$package" 2>/dev/null)" ]; then
      say "warning: this distribution has no package $package; the tests that use it will be skipped"
      continue
    fi
    say "installing $package: tests of pages, metrics, images, networks and providers of machines use it"
    install_packages "$package"
    # The tests start one of their own; this machine is to have none that runs all the time.
    command -v systemctl >/dev/null || continue
    case $package in
      prometheus) service=prometheus ;;
      openssh-server) service=ssh ;;
      slurm-wlm) service='slurmctld slurmd' ;;
      munge) service=munge ;;
      *) continue ;;
    esac
    as_root systemctl disable --now $service >/dev/null 2>&1 || true
  done
}

provide_test_packages() {
  local stamp=.venv/requirements-test.installed
  if [ -x .venv/bin/python ] && cmp -s scripts/requirements-test.txt "$stamp"; then return; fi
  make_venv
  say "installing $(sed -nE 's/^([a-z-]+).*/\1/p' scripts/requirements-test.txt | paste -sd' ') into .venv/: the tests use them"
  .venv/bin/python -m pip install --quiet --no-input --no-compile -r scripts/requirements-test.txt \
    || fail "pip could not install scripts/requirements-test.txt" "see the lines above"
  case $torch_folder in
    */site-packages/torch/*)  # the tests compare with PyTorch: let .venv/ see the one that LibTorch comes from
      if ! python_torch .venv/bin/python >/dev/null; then
        echo "${torch_folder%/torch/*}" >"$(.venv/bin/python -c 'import site; print(site.getsitepackages()[0])')/torch_of_user.pth"
      fi ;;
  esac
  cp scripts/requirements-test.txt "$stamp"
}

main() {
  local with_tests=no
  case "${1:-}" in
    '') ;;
    --test) with_tests=yes ;;
    *) echo "usage: scripts/setup.sh [--test]" >&2; exit 2 ;;
  esac
  install_missing
  provide_torch
  [ "$with_tests" = no ] || { provide_test_programs; provide_test_packages; }
  rm -f "$apt_log"
  say "ready (LibTorch: $torch_folder)"
}

main "$@"
