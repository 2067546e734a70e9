#!/usr/bin/env bash
# Another Debian release in a folder, made once and reused; holdpoint is built in it and a command runs in it.
# As root by debootstrap and chroot, in namespaces of its own, so that no mount and no process outlives this script however
# it ends; otherwise by mmdebstrap and bubblewrap. Writes nothing but its folder and --out. Run by people and by the tests.
set -euo pipefail
self=$(readlink -f "${BASH_SOURCE[0]}")
checkout=$(dirname "$(dirname "$self")")
# shellcheck source=ci/common.sh
. "$checkout/ci/common.sh"
keyring=/usr/share/keyrings/debian-archive-keyring.gpg

usage() {
    cat <<'EOT'
usage: ci/rootfs.sh [OPTION]… SUITE [COMMAND…]
  Runs COMMAND in a folder with the Debian release SUITE (trixie, sid, …), in a copy of this checkout, with holdpoint
  built there. Default: build/holdpoint run ompi-modex-fence --ranks 2
options:
  --prefix-only     make the folder and install the packages, print its path; build and run nothing
  --out DIR         where results.json comes out (default: reports/latest-SUITE; in the copy it is reports/latest)
  --folder DIR      where such folders lie (default: $HOLDPOINT_ROOTFS, or holdpoint/ in $XDG_CACHE_HOME or ~/.cache)
  --limit SECONDS   end everything after that long (default: 3600)
exit:  COMMAND's own; 125 the folder cannot be made or used here; 124 the limit was reached; 129 usage
EOT
}

say() { printf 'rootfs.sh: %s\n' "$*" >&2; }
cannot() {
    say "$*"
    exit 125
}
misused() {
    say "$*"
    usage >&2
    exit 129
}

# ---- what the machine's own apt says ----

# Where this machine takes its own release from.
own_mirror() {
    local codename
    codename=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
    apt-get indextargets --format "\$(REPO_URI) \$(RELEASE) \$(COMPONENT)" "Created-By: Packages" |
        awk -v release="$codename" '$2 == release && $3 == "main" {print $1; exit}'
}

# How it fetches: proxies, Release files that have expired, …
own_fetching() { apt-config dump | grep '^Acquire::' | grep -v '^Acquire::IndexTargets'; }

# ---- a command inside ----

# In the private namespaces, as root. /dev/shm is the folder's own: what a killed job leaves there goes with it.
mount_for_root() {
    mount -t proc proc "$1/proc"
    mount --rbind /sys "$1/sys"
    mount --rbind /dev "$1/dev"
    mount -t tmpfs tmpfs "$1/dev/shm"
    mount -t tmpfs tmpfs "$1/tmp"
}

environment() { # what reaches the inside: nothing of the caller's but the way to the mirror
    env | grep -iE '^(https?|ftp|no)_proxy=' || true
    printf '%s\n' HOME=/root LANG=C.UTF-8 TERM=dumb DEBIAN_FRONTEND=noninteractive \
        PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
}

inside() { # FOLDER COMMAND…
    local folder=$1 variables
    shift
    mapfile -t variables < <(environment)
    if [[ $(id -u) == 0 ]]; then
        chroot "$folder" /usr/bin/env -i "${variables[@]}" "$@" 9>&-
    else
        bwrap --die-with-parent --unshare-user --uid 0 --gid 0 --unshare-pid --bind "$folder" / --dev /dev --proc /proc \
            --ro-bind /sys /sys --tmpfs /tmp --ro-bind /etc/resolv.conf /etc/resolv.conf --bind "$out" /root/holdpoint/reports/latest \
            /usr/bin/env -i "${variables[@]}" "$@" 9>&-
    fi
}

# ---- making the folder ----

bootstrap() {
    debootstrap --variant=minbase --include=ca-certificates --keyring="$keyring" "$suite" "$1" "$mirror" || return
    rm -rf "$1/etc/apt/sources.list.d"/*
    install -D -m 644 "$keyring" "$1$keyring"
    echo "deb [signed-by=$keyring] $mirror $suite main" >"$1/etc/apt/sources.list"
    own_fetching >"$1/etc/apt/apt.conf.d/90machine"
}

# Its files all belong to the user who makes it, which is enough to run what is in it.
bootstrap_without_root() {
    local fetching status=0
    fetching=$(mktemp)
    own_fetching >"$fetching"
    chmod 644 "$fetching" # mmdebstrap reads it as another user
    mkdir -p "$1"
    mmdebstrap --mode=unshare --variant=minbase --include="ca-certificates,${packages// /,}" --aptopt="$fetching" \
        --keyring="$keyring" "$suite" - "$mirror" | tar -C "$1" --exclude='./dev/*' -x || status=$?
    rm -f "$fetching"
    return "$status"
}

install_packages() {
    # shellcheck disable=SC2086 # one word a package
    inside "$1" apt-get update -qq && inside "$1" apt-get install -y -qq --no-install-recommends $packages
}

make_folder() { # at $1
    say "making $folder from $mirror, once; this takes minutes"
    rm -rf --one-file-system "$1"
    if [[ $(id -u) == 0 ]]; then bootstrap "$1"; else bootstrap_without_root "$1"; fi
}

# The folder appears under its name when it is whole. One that lacks what ci/packages.txt names by now is completed.
prepare() {
    local at=$folder stamp=root/installed
    [[ -d $folder ]] || at=$folder.part
    if ! {
        { [[ $at == "$folder" ]] || make_folder "$at"; } &&
            { [[ $(id -u) != 0 ]] || { cp -L /etc/resolv.conf /etc/hosts "$at/etc/" && mount_for_root "$at"; }; } &&
            { [[ $(cat "$at/$stamp" 2>/dev/null) == "$packages" ]] || [[ $(id -u) != 0 ]] || install_packages "$at"; }
    } >"$folder.log" 2>&1; then
        tail -n 12 "$folder.log" >&2
        cannot "no $suite from $mirror (above; all of it: $folder.log): does the mirror have that release, can it be reached?"
    fi
    echo "$packages" >"$at/$stamp"
    [[ $at == "$folder" ]] || mv "$at" "$folder"
}

# ---- holdpoint in it ----

# Objects of the last build stay when they are of the same checkout: file times of two do not compare.
copy_checkout() {
    local to=$folder/root/holdpoint
    mkdir -p "$to"
    [[ $(cat "$to.from" 2>/dev/null) == "$checkout" ]] || rm -rf --one-file-system "${to:?}"/*
    echo "$checkout" >"$to.from"
    find "$to" -mindepth 1 -maxdepth 1 ! -name build -exec rm -rf --one-file-system {} +
    (cd "$checkout" && checkout_files | tar -c --null -T - --ignore-failed-read 2>/dev/null) | tar -C "$to" -x --no-same-owner
    mkdir -p "$to/reports/latest"
}

checkout_files() {
    if git -c safe.directory='*' rev-parse --git-dir >/dev/null 2>&1; then
        git -c safe.directory='*' ls-files -zco --exclude-standard
    else
        find . \( -path './build*' -o -path './reports/latest*' -o -path ./reports/test \) -prune -o -type f -print0
    fi
}

run_in_copy() { inside "$folder" /bin/bash -c 'cd /root/holdpoint && exec "$@"' rootfs "$@"; }

build_and_run() {
    local log=$folder.build.log
    copy_checkout
    [[ $(id -u) == 0 ]] && mount --bind "$out" "$folder/root/holdpoint/reports/latest"
    if ! run_in_copy make -j "$(nproc)" >"$log" 2>&1; then
        grep -E 'error:|Error [0-9]|warning:' "$log" >&2 || tail -n 20 "$log" >&2
        cannot "holdpoint does not build in $suite (above; all of it: $log)"
    fi
    run_in_copy "$@"
}

# ---- command line ----

able() { # what this machine needs for it
    local missing=() need=(unshare setpriv)
    if [[ $(id -u) == 0 ]]; then
        [[ -d $folder ]] || need+=(debootstrap)
    else
        need=(bwrap)
        [[ -d $folder ]] || need+=(mmdebstrap newuidmap)
    fi
    for tool in "${need[@]}"; do command -v "$tool" >/dev/null || missing+=("$tool"); done
    [[ ${#missing[@]} == 0 ]] && return
    [[ $(id -u) == 0 ]] && cannot "missing: ${missing[*]} (install debootstrap and util-linux)"
    cannot "missing: ${missing[*]}: without root, another release needs bubblewrap, mmdebstrap and uidmap; or run this as root"
}

stop() { # the exit status of this script, once everything that it started is gone
    kill -KILL -- "-$child" 2>/dev/null || kill -KILL "$child" 2>/dev/null || true
    wait "$child" 2>/dev/null || true
    exit "$1"
}

# Starts this script again, where it can do what it is for: a process that dies takes the next one with it (pdeathsig),
# down to the first one of the private namespaces.
start_inner() {
    local chained=(setpriv --pdeathsig KILL) namespaces=() started=$SECONDS status=0
    [[ $(id -u) == 0 ]] && namespaces=(unshare --mount --propagation private --pid --fork --kill-child)
    HOLDPOINT_ROOTFS_PART=inner "${chained[@]}" timeout --signal=KILL "$limit" "${chained[@]}" "${namespaces[@]}" \
        "$self" "${options[@]}" "$suite" "$@" </dev/null &
    child=$!
    trap 'stop 129' HUP
    trap 'stop 130' INT
    trap 'stop 143' TERM
    wait "$child" || status=$?
    if [[ $status == 137 && $((SECONDS - started)) -ge $limit ]]; then
        say "ended after $limit s (--limit)"
        status=124
    fi
    exit "$status"
}

out="" limit=3600 prefix_only=0
folders=${HOLDPOINT_ROOTFS:-${XDG_CACHE_HOME:-${HOME:-}/.cache}/holdpoint}
while [[ ${1:-} == -* ]]; do
    case $1 in
    --prefix-only) prefix_only=1 ;;
    --out | --folder | --limit)
        [[ -n ${2:-} ]] || misused "$1 needs a value"
        case $1 in --out) out=$2 ;; --folder) folders=$2 ;; --limit) limit=$2 ;; esac
        shift
        ;;
    -h | --help)
        usage
        exit 0
        ;;
    *) misused "unknown option $1" ;;
    esac
    shift
done
[[ $# -gt 0 ]] || misused "which release? SUITE is missing"
suite=$1
shift
[[ $# -gt 0 ]] || set -- build/holdpoint run ompi-modex-fence --ranks 2
[[ $suite =~ ^[a-z][a-z0-9-]*$ ]] || misused "'$suite' is not the name of a Debian release"
[[ $limit =~ ^[1-9][0-9]*$ ]] || misused "--limit $limit: whole seconds, more than 0"
folders=$(realpath -m "$folders")
[[ $folders != / ]] || misused "--folder /: not the root of this machine"
folder=$folders/$suite
out=$(realpath -m "${out:-$checkout/reports/latest-$suite}")
[[ ! -d /usr/share/debootstrap/scripts || -e /usr/share/debootstrap/scripts/$suite ]] ||
    cannot "debootstrap knows no release '$suite'; it knows $(cd /usr/share/debootstrap/scripts && echo [a-z]*)"

options=(--out "$out" --folder "$folders" --limit "$limit")
[[ $prefix_only == 1 ]] && options+=(--prefix-only)
if [[ ${HOLDPOINT_ROOTFS_PART:-} != inner ]]; then
    command -v apt-get >/dev/null || cannot "no apt here to take a mirror from: this needs a Debian system"
    able
    mkdir -p "$folders" "$out"
    exec 9>"$folder.lock"
    flock -n 9 || say "another run uses $folder: waiting for it"
    flock -w "$limit" 9 || cannot "another run still uses $folder after $limit s"
    start_inner "$@"
fi

packages=$(section_packages run | paste -sd' ')
mirror=$(own_mirror)
[[ -n $mirror ]] || cannot "apt names no mirror of this machine's own release (apt-get indextargets)"
prepare
if [[ $prefix_only == 1 ]]; then
    echo "$folder"
else
    build_and_run "$@"
fi
