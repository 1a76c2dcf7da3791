#!/bin/sh
# Runs every libFuzzer target for some seconds: tools/run_fuzzers.sh BUILD SECONDS.
#
# Starts from tests/fuzz/corpus/<target>/ and keeps what it finds in BUILD/corpus/<target>/. An input
# that breaks something is left in BUILD/artifacts/, beside the log of each target; copy it into the corpus together with the mend.
# With 0 seconds the corpus is only replayed.
set -eu
build=${1:?the build folder}
seconds=${2:?seconds for each target}
seeds=$(cd "$(dirname "$0")/../tests/fuzz" && pwd)/corpus
status=0
count=0
mkdir -p "$build/artifacts"
for program in "$build"/tests/fuzz/fuzz_*; do
    { [ -f "$program" ] && [ -x "$program" ]; } || continue
    target=$(basename "$program")
    count=$((count + 1))
    mkdir -p "$build/corpus/$target"
    limit="-max_total_time=$seconds"
    [ "$seconds" -gt 0 ] || limit="-runs=0"
    corpus="$build/corpus/$target"
    [ ! -d "$seeds/$target" ] || corpus="$corpus $seeds/$target"
    dictionary=""
    [ ! -f "$seeds/$target.dict" ] || dictionary="-dict=$seeds/$target.dict"
    # shellcheck disable=SC2086 # lists of words
    if "$program" $limit $dictionary -timeout=10 -rss_limit_mb=2048 \
        -artifact_prefix="$build/artifacts/$target-" $corpus >"$build/artifacts/$target.log" 2>&1; then
        # shellcheck disable=SC2086
        echo "$target: fine after $seconds s, $(find $corpus -type f | wc -l) inputs"
    else
        tail -n 40 "$build/artifacts/$target.log" >&2
        echo "$target: FAILED; the input and the whole log are in $build/artifacts/" >&2
        status=1
    fi
done
if [ "$count" -eq 0 ]; then
    echo "$build/tests/fuzz holds no fuzz target" >&2
    exit 1
fi
exit $status
