#!/usr/bin/env bash
# The whole comparison in one command: peers, clef, weights, measurement, verdicts, picture.
#
#     bench/compare/run.sh [--quick] [PART...]
#
# PART is one of encode, image, text, vision; all by default. Everything that is made on the way lies in build/compare
# ($CLEF_COMPARE names another folder) and is made once. Rows are appended to bench/results/<machine>-compare.csv, and
# the picture of docs/images is drawn anew. --quick runs everything on tiny work, to see that it runs; its rows and
# its picture stay in the folder. Leave the machine alone while it measures.
set -euo pipefail
cd "$(dirname "$0")/../.."

folder=${CLEF_COMPARE:-build/compare}
quick=()
if [ "${1:-}" = --quick ]; then
    quick=(--quick)
    shift
fi
parts=$(IFS=,; echo "${*:-encode,image,text,vision}")
parts=${parts// /,}

mkdir -p "$folder"
bench/compare/environment.sh "$folder/environment"
python=$folder/environment/bin/python
cmake -S . -B "$folder/clef" -DCMAKE_BUILD_TYPE=Release >/dev/null
cmake --build "$folder/clef" --target clef_program encode_timing image_timing --parallel "$(nproc)" >/dev/null
"$python" tools/make_tokenizer.py "$folder/tokenizer" >/dev/null
"$python" bench/compare/random_gguf.py "$folder/gguf"

if [ ${#quick[@]} -gt 0 ]; then
    table=$folder/quick.csv picture=$folder/quick.svg
    rm -f "$table"
else
    table=bench/results/$("$python" bench/compare/machine.py)-compare.csv picture=docs/images/compare.svg
fi
"$python" bench/compare/compare.py --folder "$folder" --clef "$folder/clef/clef" \
    --encode-timing "$folder/clef/tests/encode_timing" --image-timing "$folder/clef/tests/image_timing" --output "$table" --parts "$parts" "${quick[@]}"
"$python" bench/compare/summary.py "$table"
"$python" bench/compare/plot.py "$table" "$picture"
echo "Table: $table; picture: $picture"
