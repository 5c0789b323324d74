#!/bin/bash
# The startup script of a VM that Scavenger rents: gets the programs, runs the worker with the ticket from the VM's metadata, passes
# on the notice of a preemption, and deletes the VM when the worker has ended, whatever the reason. Compute Engine deletes it anyway
# when its longest life is over (maxRunDuration).
set -u
umask 077

metadata() {  # metadata PATH [CURL-OPTION...]
  local path=$1
  shift
  curl -sf -H 'Metadata-Flavor: Google' "$@" "http://${GCE_METADATA_HOST:-metadata.google.internal}/computeMetadata/v1/$path"
}
attribute() { metadata "instance/attributes/scavenger-$1"; }
token() { metadata instance/service-accounts/default/token | sed -E 's/.*"access_token" *: *"([^"]*)".*/\1/'; }
log() { echo "scavenger: $*"; }

# Secrets go to curl by its standard input, not on its command line.
with_token() { printf 'header = "Authorization: Bearer %s"\n' "$(token)" | curl -sf -K - "$@"; }

delete_this_vm() {
  local name zone project endpoint
  name=$(metadata instance/name)
  zone=$(metadata instance/zone)
  project=$(metadata project/project-id)
  endpoint=$(attribute endpoint)
  log "deleting $name"
  for _ in 1 2 3 4 5 6; do
    with_token -X DELETE "$endpoint/compute/v1/projects/$project/zones/${zone##*/}/instances/$name" >/dev/null && return
    sleep 10
  done
  shutdown -h now  # a VM that stands still costs its disk only
}

# A folder on the VM's image; or an archive at https://... or gs://BUCKET/OBJECT, with bin/ and lib/ in it.
fetch_programs() {
  local place
  place=$(attribute programs)
  case $place in
    gs://*)
      local object=${place#gs://*/} bucket=${place#gs://}
      with_token "https://storage.googleapis.com/${bucket%%/*}/${object}" -o programs.tar.gz ;;
    https://*) curl -sfL "$place" -o programs.tar.gz ;;
    *) programs=$place; return ;;
  esac || { log "there are no programs at $place"; return 1; }
  programs=$PWD/programs/bin
  mkdir -p programs && tar -xzf programs.tar.gz -C programs
}

# The long poll answers when the value is another than the one of the ETag, so no change between two calls is missed.
pass_on_notice() {  # pass_on_notice PID KEY VALUE: tells the worker when the metadata server says VALUE
  local answer etag=0 headers=headers-$2
  while kill -0 "$1" 2>/dev/null; do
    answer=$(metadata "instance/$2?wait_for_change=true&timeout_sec=60&last_etag=$etag" -D "$headers") || { sleep 5; continue; }
    if [ "$answer" = "$3" ]; then
      log "this VM has notice ($2: $3): telling the worker"
      kill -TERM "$1"
      return
    fi
    etag=$(sed -nE 's/^[Ee][Tt][Aa][Gg]: *([^[:space:]]*).*/\1/p' "$headers")
  done
}

# The ticket holds the job's secret, and metadata can be read by others: it comes enciphered for a key that never leaves this VM.
fetch_ticket() {
  openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=scavenger -keyout key.pem -out certificate.pem 2>/dev/null &&
    metadata instance/guest-attributes/scavenger/certificate -X PUT --data-binary @certificate.pem >/dev/null || return 1
  for _ in $(seq 600); do
    if attribute ticket >sealed; then
      openssl cms -decrypt -inform PEM -in sealed -recip certificate.pem -inkey key.pem -out ticket
      status=$?
      rm key.pem
      return $status
    fi
    sleep 1
  done
  return 1
}

mkdir -p "${HOME:-/root}/scavenger" && cd "${HOME:-/root}/scavenger" || exit 1
trap delete_this_vm EXIT
programs=
fetch_programs || exit 1
fetch_ticket || { log "this VM has no ticket"; exit 1; }
exec 3<ticket  # before it is removed: the worker's own redirection may come later
rm ticket
declare -a worker_words="($(attribute worker))"  # each is quoted
[ ! -r /etc/default/scavenger ] || { set -a; . /etc/default/scavenger; set +a; }  # of the image: SCAVENGER_PYTHON
"$programs/${worker_words[0]}" "${worker_words[@]:1}" <&3 &
worker=$!
exec 3<&-
trap 'kill -TERM $worker 2>/dev/null' TERM  # the machine's soft end, where it is the first to tell
pass_on_notice "$worker" preempted TRUE &
watchers=$!
# VMs that can move to another host do so by themselves (MIGRATE_ON_HOST_MAINTENANCE); the others end.
pass_on_notice "$worker" maintenance-event TERMINATE_ON_HOST_MAINTENANCE &
watchers="$watchers $!"
wait "$worker"
status=$?
while kill -0 "$worker" 2>/dev/null; do
  wait "$worker"
  status=$?
done
log "the worker has ended with $status"
kill $watchers 2>/dev/null
