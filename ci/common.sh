# shellcheck shell=bash
# What run.sh, ci/test.sh and ci/rootfs.sh share. Sourced, never run.

# A python3 that has the given modules ("a,b"); the first on PATH may be one without.
find_python() {
    local candidate
    for candidate in python3 /usr/bin/python3 /usr/local/bin/python3; do
        if "$candidate" -c "import $1" 2>/dev/null; then
            echo "$candidate"
            return
        fi
    done
    echo "run.sh: no python3 has all of $1; install the python3 packages of ci/packages.txt" >&2
    return 1
}

# The packages that a section of ci/packages.txt names, one a line.
section_packages() {
    awk -v section="[$1]" '/^\[/ {in_section = ($0 == section); next} in_section && /^[^#]/ {print $1}' \
        "$(dirname "${BASH_SOURCE[0]}")/packages.txt"
}
