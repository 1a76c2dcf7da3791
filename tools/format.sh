#!/bin/sh
# Formats all C files with clang-format 14, the version that defines the style; --check only names files.
set -eu
cd "$(dirname "$0")/.."
tool=""
for name in clang-format-14 clang-format; do
    if command -v "$name" >/dev/null 2>&1 && "$name" --version | grep -q 'version 14\.'; then
        tool=$name
        break
    fi
done
if [ -z "$tool" ]; then
    echo "SKIP: clang-format 14 is not on this machine"
    exit 77
fi
mode="-i"
[ "${1:-}" != "--check" ] || mode="--dry-run --Werror"
# shellcheck disable=SC2086 # mode is a list of words
find src include tests examples -name '*.[ch]' -print0 | xargs -0 "$tool" $mode
echo "format: ${1:-done}" | sed 's/--check/every C file is formatted/'
