#!/bin/sh
# Makes a Python environment with the peers, at the versions of requirements.txt.
#
#     bench/compare/environment.sh FOLDER
#
# FOLDER/bin/python is its Python. llama.cpp is compiled here with all instructions of this processor (half an hour
# on two cores); the rest are wheels from PyPI, 6 GB with what PyTorch brings along. Does nothing when it is all there.
# PYTHON names another Python than python3.
set -eu

if [ $# -ne 1 ]; then
    echo "usage: $0 FOLDER" >&2
    exit 2
fi
folder=$1
here=$(cd "$(dirname "$0")" && pwd)

if cmp -s "$here/requirements.txt" "$folder/requirements.txt"; then
    exit 0
fi
[ -x "$folder/bin/python" ] || "${PYTHON:-python3}" -m venv "$folder"
CMAKE_ARGS="-DGGML_NATIVE=ON -DGGML_OPENMP=ON -DMTMD_BUILD=OFF" CMAKE_BUILD_PARALLEL_LEVEL=$(nproc) \
    nice "$folder/bin/python" -m pip install --no-binary llama-cpp-python -r "$here/requirements.txt"
# What is written last says that all of it is there.
cp "$here/requirements.txt" "$folder/requirements.txt"
