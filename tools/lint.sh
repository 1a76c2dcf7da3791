#!/bin/sh
# clang-tidy over the library and the program: tools/lint.sh BUILD JOBS. The checks stand in .clang-tidy.
set -eu
cd "$(dirname "$0")/.."
if ! command -v clang-tidy >/dev/null 2>&1; then
    echo "SKIP: clang-tidy is not on this machine (tools/install_dependencies.sh format)"
    exit 77
fi
find src examples -name '*.c' -print0 | xargs -0 -n 4 -P "${2:-2}" clang-tidy --quiet -p "${1:-build}" 2>&1 |
    grep -vE '^[0-9]+ warnings? generated' || echo "lint: nothing to say"
