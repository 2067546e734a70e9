#!/usr/bin/env bash
# Proves the project: builds and unit tests with both compilers and under the sanitizers, the checkers, pytest.
#   ci/test.sh [--full]     called by ./run.sh test, which installs what it needs
# Every stage keeps its log in reports/test/. The last line counts pytest's tests and the other stages together.
set -uo pipefail
cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/.." || exit 125
full=0
case ${1:-} in
'') ;;
--full) full=1 ;;
*)
    echo "usage: ./run.sh test [--full]" >&2
    exit 129
    ;;
esac
jobs=$(nproc)
# shellcheck source=ci/common.sh
. ci/common.sh
logs=$PWD/reports/test
rm -rf "$logs"
mkdir -p "$logs"
passed=0 failed=0

# stage NAME COMMAND…: runs it with its output in a log; a failure shows the end of the log and goes on.
stage() {
    local name=$1 log started=$SECONDS
    log=$logs/${name//[^a-z0-9]/-}.log
    shift
    printf '%-36s ' "$name"
    if "$@" >"$log" 2>&1; then
        passed=$((passed + 1))
        echo "ok      $((SECONDS - started)) s"
    else
        failed=$((failed + 1))
        echo "FAILED  $((SECONDS - started)) s; $log ends:"
        tail -n 25 "$log" | sed 's/^/    /'
    fi
}

sources() { # *.c and *.h as git knows them, or as they lie there in a copy without git
    if git rev-parse --git-dir >/dev/null 2>&1; then
        git ls-files -co --exclude-standard "$@"
    else
        local pattern
        for pattern in "$@"; do
            find . -path './build*' -prune -o -name "$pattern" -print
        done
    fi
}

unit_under() { # SANITIZER COMPILER: our own code under a sanitizer, its unit tests run
    local build=build/${1//,/-}
    make -j "$jobs" BUILD="$build" CC="$2" SAN="$1" "$build/holdpoint" "$build/holdpoint-rank" unit
}

clang_build() { # also records how each file is compiled, for clang-tidy and cppcheck
    local database=build/clang/compile_commands.json append=()
    [[ -f $database ]] && append=(--append)
    mkdir -p build/clang
    bear "${append[@]}" --output "$database" -- make -j "$jobs" BUILD=build/clang CC=clang all
}

tidy() {
    sources '*.c' | grep -E '^(\./)?(harness|shims)/' | grep -v '_test\.c$' |
        xargs -P "$jobs" -n 4 clang-tidy --quiet -p build/clang
}

check_with_cppcheck() {
    cppcheck --project=build/clang/compile_commands.json -j "$jobs" --quiet --error-exitcode=1 --inline-suppr \
        --enable=warning,performance,portability --suppressions-list=ci/cppcheck-suppressions.txt
}

run_pytest() {
    local python select=() parallel=()
    python=$(find_python pytest,jinja2,yaml,jsonschema) || return 1
    [[ $full == 1 ]] && select=(-m "full or not full")
    "$python" -c 'import xdist' 2>/dev/null && parallel=(-n auto)
    "$python" -m pytest -q -p no:cacheprovider "${parallel[@]}" "${select[@]}" --junitxml "$logs/pytest.xml" tests scenarios reports
}

# pytest's own counts, from its XML: "passed failed".
pytest_counts() {
    "$(find_python pytest)" - "$logs/pytest.xml" <<'EOF'
import sys, xml.etree.ElementTree as tree
suites = list(tree.parse(sys.argv[1]).getroot().iter("testsuite"))
count = lambda key: sum(int(suite.get(key, 0)) for suite in suites)
bad = count("failures") + count("errors")
print(count("tests") - bad - count("skipped"), bad)
EOF
}

stage "build gcc" make -j "$jobs" all
stage "unit gcc" make -j "$jobs" unit
mapfile -t scripts < <(sources '*.sh' | grep -v '^build')
stage "shellcheck" shellcheck .ci/run "${scripts[@]}"
mapfile -t code < <(sources '*.c' '*.cpp' '*.h')
stage "clang-format" clang-format --dry-run -Werror "${code[@]}"
stage "build clang" clang_build
stage "unit clang" make -j "$jobs" BUILD=build/clang CC=clang unit
stage "unit gcc address,undefined" unit_under address,undefined gcc
stage "unit gcc thread" unit_under thread gcc
stage "cppcheck" check_with_cppcheck
stage "clang-tidy" tidy

echo "pytest (tests, scenarios, reports)"
run_pytest 2>&1 | tee "$logs/pytest.log"
status=${PIPESTATUS[0]}
if [[ -s $logs/pytest.xml ]] && read -r good bad < <(pytest_counts); then
    passed=$((passed + good)) failed=$((failed + bad))
    [[ $status != 0 && $bad == 0 ]] && failed=$((failed + 1))
else
    failed=$((failed + 1))
fi
echo "$passed passed, $failed failed"
[[ $failed == 0 ]]
