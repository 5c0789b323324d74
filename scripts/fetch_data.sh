#!/usr/bin/env bash
# Fetches the data of the ready configurations (configs/) that a clone does not have, and checks them:
#
#   scripts/fetch_data.sh mnist digits        into data/mnist and data/digits
#   scripts/fetch_data.sh --list              what there is
#   scripts/fetch_data.sh --from DIR mnist    from DIR/mnist, or from a mirror, --from https://HOST/PATH
#
# A file whose checksum is not the published one is refused. Where nobody publishes one, that of the first time is kept
# (data/NAME/SHA256SUMS) and holds from then on. docs/data.md says where each comes from.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
to=$(dirname "$here")/data
from=""
trust=""
names=()

say() { echo "fetch_data: $*"; }
fail() { echo "fetch_data: $*" >&2; exit 1; }

usage() {
  sed -n '2,9s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"
  echo
  echo "--from DIR|URL  take the files from there: NAME/FILE below it"
  echo "--to DIR        put them there (else $to)"
  echo "--trust         take a file whose checksum differs, too, and say so"
}

list() {
  echo "mnist            handwritten digits, 12 MB: mnist_cnn"
  echo "cifar10          small colour images, 162 MB: cifar10_cnn, cifar10_resnet18, cifar10_resnet18_full"
  echo "cifar100         the same in 100 classes, 161 MB: cifar100_resnet50"
  echo "digits           handwritten digits as CSV, 1 MB: digits_mlp"
  echo "multi30k         English and German captions, 4 MB: multi30k_transformer"
  echo "tinyshakespeare  1 MB of text: tinyshakespeare_lm"
}

# Puts what `url` names into `file`; with --from, NAME/FILE from there. Fails where it is not to be had.
load() {
  local name=$1 url=$2 file=$3
  local source=${from:+$from/$name/$(basename "$url")}
  source=${source:-$url}
  if [[ $source != *://* ]]; then
    cp -- "$source" "$file"
  elif command -v curl > /dev/null; then
    curl --fail --silent --show-error --location --retry 2 --output "$file" "$source"
  elif command -v wget > /dev/null; then
    wget --quiet --output-document="$file" "$source"
  else
    fail "neither curl nor wget is installed"
  fi
}

sum_of() {  # algorithm, file
  "${1}sum" < "$2" | cut -d ' ' -f 1
}

# check FILE ALGORITHM:SUM, or "none": the file's name stands for what it was fetched as.
check() {
  local file=$1 expected=$2 found
  if [[ $expected == none ]]; then
    say "NOT VERIFIED: nobody publishes a checksum of $(basename "$file"); it is kept for the next time"
    return
  fi
  found=$(sum_of "${expected%%:*}" "$file")
  [[ $found == "${expected#*:}" ]] && return
  local problem="$(basename "$file") has ${expected%%:*} $found, and should have ${expected#*:}"
  [[ -n $trust ]] || fail "$problem; it is damaged, or another file (--trust takes it all the same)"
  say "NOT VERIFIED: $problem"
}

# get NAME URL SUM: into the folder that is being filled.
get() {
  local name=$1 url=$2 expected=$3 file
  file=$folder/$(basename "$url")
  load "$name" "$url" "$file"
  check "$file" "$expected"
}

# The same of a file that comes packed; with --from it may lie there unpacked.
get_packed() {
  local name=$1 url=$2 expected=$3
  local plain
  plain=$(basename "$url" .gz)
  if [[ -n $from && $from != *://* && ! -e $from/$name/$plain.gz && -e $from/$name/$plain ]]; then
    load "$name" "$plain" "$folder/$plain"
    check "$folder/$plain" "sha256:that of $plain.gz"
    return
  fi
  get "$name" "$url" "$expected"
  gunzip -f "$folder/$plain.gz"
}

# The files of an archive, without their folder; with --from they may lie there unpacked.
get_archive() {
  local name=$1 url=$2 expected=$3 archive
  shift 3
  archive=$folder/$(basename "$url")
  if [[ -n $from && $from != *://* && ! -e $from/$name/$(basename "$url") ]]; then
    local member
    for member in "$@"; do
      [[ -e $from/$name/$member ]] || { say "$from/$name has no $member"; continue; }
      load "$name" "$member" "$folder/$member"
      check "$folder/$member" "$expected"
    done
    return
  fi
  get "$name" "$url" "$expected"
  tar -xzf "$archive" -C "$folder" --strip-components=1 --no-same-owner
  rm "$archive"
}

fetch_mnist() {
  local site=https://ossci-datasets.s3.amazonaws.com/mnist
  get_packed mnist $site/train-images-idx3-ubyte.gz \
    sha256:440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609
  get_packed mnist $site/train-labels-idx1-ubyte.gz \
    sha256:3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c
  get_packed mnist $site/t10k-images-idx3-ubyte.gz \
    sha256:8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6
  get_packed mnist $site/t10k-labels-idx1-ubyte.gz \
    sha256:f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6
}

fetch_cifar10() {
  get_archive cifar10 https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz \
    md5:c32a1d4ab5d03f1284b67883e8d87530 data_batch_{1,2,3,4,5}.bin test_batch.bin
}

fetch_cifar100() {
  get_archive cifar100 https://www.cs.toronto.edu/~kriz/cifar-100-binary.tar.gz \
    md5:03b5dce01913d631647c71ecec9e9cb8 train.bin test.bin
}

# Some copies name the columns in a first line; the original does not.
fetch_digits() {
  local site=https://archive.ics.uci.edu/ml/machine-learning-databases/optdigits file
  for file in optdigits.tra optdigits.tes; do
    get digits $site/$file none
    sed -i '1{/[A-Za-z]/d}' "$folder/$file"
  done
}

fetch_multi30k() {
  local site=https://raw.githubusercontent.com/multi30k/dataset/a3d2e0d26b56f3846f66a952536ffed4e401d05a/data/task1/tok
  local part
  while read -r part sum; do
    local file=${part%.*} language=${part##*.}
    if [[ -n $from && $from != *://* && -e $from/multi30k/$part ]]; then
      get multi30k "$part" "sha256:$sum"
    else
      get multi30k "$site/$file.lc.norm.tok.$language" "sha256:$sum"
      mv "$folder/$file.lc.norm.tok.$language" "$folder/$part"
    fi
  done << 'SUMS'
train.en 08925f8e0572bcd5a006702fc5fe20e2d77c6917d4eebd576fc20de6693c2119
train.de cb5a23529b65ec2061f1dc446192a9c37382b63cc75f81a0be59d34894b3a505
test_2016_flickr.en 5b7f32627cf99eced828311b955dae9800bb52bc8b91cf8b6526829e605b29d2
test_2016_flickr.de c6a33d39d48f9f510de147651316cd9d918e09ad0219df734a2f16b6baccacc4
SUMS
}

fetch_tinyshakespeare() {
  get tinyshakespeare \
    https://raw.githubusercontent.com/karpathy/char-rnn/6f9487a6fe5b420b7ca9afb0d7c078e37c1d1b4e/data/tinyshakespeare/input.txt \
    sha256:86c4e6aa9db7c042ec79f339dcb96d42b0075e16b8fc2e86bf0ca57e2dc565ed
}

# All of it beside, then in one step: no half of a data set is ever seen.
fetch() {
  local name=$1 place=$to/$1
  mkdir -p "$to"
  exec 9< "$to"
  flock 9  # one at a time
  if [[ -f $place/SHA256SUMS ]] && (cd "$place" && sha256sum --check --quiet SHA256SUMS) > /dev/null 2>&1; then
    say "$name is there: $place"
    return
  fi
  folder=$(mktemp -d "$to/.$name.XXXXXX")
  trap 'rm -rf "$folder"' EXIT
  say "fetching $name"
  local done=0
  set +e  # a part that fails ends the function, and not what follows "||"
  (set -e; "fetch_$name")
  done=$?
  set -e
  [[ $done == 0 ]] || fail "$name could not be fetched: see above; --from names another place"
  (cd "$folder" && sha256sum -- * > ../".$name.sums" && mv ../".$name.sums" SHA256SUMS)
  if [[ -f $place/SHA256SUMS && -z $trust ]] && ! cmp -s "$place/SHA256SUMS" "$folder/SHA256SUMS"; then
    fail "$name is not what it was when it was fetched first: compare $place/SHA256SUMS (--trust takes it all the same)"
  fi
  chmod 755 "$folder"
  rm -rf "$place"
  mv "$folder" "$place"
  say "$name: $place"
}

while [[ $# -gt 0 ]]; do
  case $1 in
    --help) usage; exit 0 ;;
    --list) list; exit 0 ;;
    --trust) trust=yes; shift ;;
    --from | --to)
      [[ $# -gt 1 ]] || fail "$1 needs a value"
      [[ $1 == --to ]] && to=$2 || from=${2%/}
      shift 2 ;;
    -*) fail "unknown option $1; see --help" ;;
    *) names+=("$1"); shift ;;
  esac
done
[[ ${#names[@]} -gt 0 ]] || { usage; echo; list; exit 2; }
for name in "${names[@]}"; do
  declare -F "fetch_$name" > /dev/null || fail "there is no data set \"$name\"; see --list"
done
for name in "${names[@]}"; do fetch "$name"; done
