#!/usr/bin/env bash
# The way in: ./run.sh runs every scenario, ./run.sh test proves the project, ./run.sh ARGS… is `holdpoint ARGS…`.
# Installs what is missing (as root; otherwise it prints the one line to run), builds, runs. Works from any folder.
set -euo pipefail
root=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
jobs=$(nproc)
# shellcheck source=ci/common.sh
. "$root/ci/common.sh"

usage() {
    cat <<'EOF'
usage: ./run.sh               install what is missing, build, run every scenario's default, make the reports
       ./run.sh test [--full] prove the project; --full adds the long tables
       ./run.sh ARGS…         build, then run `holdpoint ARGS…` (its own help: ./run.sh run --help)
exit:  0 as expected, 1 not as expected, 125 cannot tell, 129 usage
EOF
}

say() { printf 'run.sh: %s\n' "$*" >&2; }

# The packages of one section of ci/packages.txt that are not installed.
missing_packages() {
    comm -23 <(section_packages "$1" | sort -u) \
        <(dpkg-query -W -f='${db:Status-Status} ${Package}\n' | sed -n 's/^installed //p' | sort -u)
}

install_missing() {
    if ! command -v dpkg-query >/dev/null; then
        say "not a Debian system: the packages of $root/ci/packages.txt are taken as installed"
        return
    fi
    local section missing=()
    for section in "$@"; do
        mapfile -t -O "${#missing[@]}" missing < <(missing_packages "$section")
    done
    [[ ${#missing[@]} == 0 ]] && return
    if [[ $(id -u) != 0 ]]; then
        say "missing: ${missing[*]}; run this, then ./run.sh again:"
        echo "  sudo apt-get install -y --no-install-recommends ${missing[*]}"
        exit 125
    fi
    say "installing ${#missing[@]} packages: ${missing[*]}"
    local log
    log=$(mktemp)
    if ! { apt-get update && DEBIAN_FRONTEND=noninteractive \
        apt-get install -y --no-install-recommends "${missing[@]}"; } >"$log" 2>&1; then
        tail -n 20 "$log" >&2
        rm -f "$log"
        say "apt-get could not install them (above); install them another way, then run ./run.sh again"
        exit 125
    fi
    rm -f "$log"
}

build() {
    local log
    log=$(mktemp)
    if ! make -C "$root" -j "$jobs" >"$log" 2>&1; then
        grep -E 'error:|Error [0-9]|warning:' "$log" >&2 || tail -n 30 "$log" >&2
        rm -f "$log"
        say "the build failed (above)"
        exit 125
    fi
    rm -f "$log"
}

run_all() {
    local python status=0 out=$root/reports/latest
    install_missing run
    python=$(find_python jinja2,yaml) || exit 125
    say "building"
    build
    say "running every scenario's default"
    "$root/build/holdpoint" run --all --out "$out" || status=$?
    if [[ -f $out/results.json ]]; then
        "$python" "$root/reports/report.py" "$out"
        say "report: $out/index.html"
    fi
    exit "$status"
}

case ${1:-} in
'') run_all ;;
-h | --help | help) usage ;;
test)
    shift
    install_missing run test
    exec "$root/ci/test.sh" "$@"
    ;;
*)
    install_missing run
    build
    exec "$root/build/holdpoint" "$@"
    ;;
esac
