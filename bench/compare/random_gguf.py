#!/usr/bin/env python3
"""Writes the text shape as GGUF for llama.cpp: random bfloat16 weights, and copies that llama.cpp quantises.

    random_gguf.py FOLDER

Makes FOLDER/bf16.gguf, q8_0.gguf and q4_k_m.gguf (1.5, 0.8 and 0.5 GB); files that are there stay. For speed
only: the numbers of a weight do not change the time of a product. Needs numpy, gguf and llama-cpp-python.
"""

from __future__ import annotations

import ctypes
import os
import sys
from pathlib import Path

import gguf
import numpy as np

import shape

QUANTISED = {"q8_0": "LLAMA_FTYPE_MOSTLY_Q8_0", "q4_k_m": "LLAMA_FTYPE_MOSTLY_Q4_K_M"}


def describe(writer: gguf.GGUFWriter) -> None:
    """The keys without which llama.cpp does not load the architecture."""
    writer.add_block_count(shape.LAYERS)
    writer.add_context_length(262144)
    writer.add_embedding_length(shape.HIDDEN)
    writer.add_feed_forward_length(shape.FEED_FORWARD)
    writer.add_head_count(shape.QUERY_HEADS)
    writer.add_head_count_kv(shape.KEY_HEADS)
    writer.add_key_length(shape.HEAD)
    writer.add_value_length(shape.HEAD)
    writer.add_layer_norm_rms_eps(1e-6)
    writer.add_rope_freq_base(float(shape.ROPE_BASE))
    writer.add_rope_dimension_count(shape.HEAD // 4)
    writer.add_rope_dimension_sections([*shape.ROPE_SECTIONS, 0])
    writer.add_ssm_conv_kernel(shape.CONVOLUTION)
    writer.add_ssm_inner_size(shape.DELTA_INNER)
    writer.add_ssm_state_size(shape.DELTA_HEAD)
    writer.add_ssm_time_step_rank(shape.DELTA_VALUE_HEADS)
    writer.add_ssm_group_count(shape.DELTA_KEY_HEADS)
    writer.add_vocab_size(shape.VOCABULARY)
    writer.add_tokenizer_model("none")


class Tensors:
    """Adds tensors to a file: matrices of random bfloat16, small vectors of fp32."""

    def __init__(self, writer: gguf.GGUFWriter) -> None:
        self.writer = writer
        self.random = np.random.default_rng(20)

    def matrix(self, name: str, rows: int, columns: int) -> None:
        # The upper half of an fp32: random sign and mantissa, exponents of 2^-7 and 2^-6.
        bits = self.random.integers(0x3C00, 0x3D00, rows * columns, np.uint16)
        bits |= self.random.integers(0, 2, rows * columns, np.uint16) << 15
        self.writer.add_tensor(f"{name}.weight", bits.reshape(rows, columns).view(np.uint8),
                               raw_shape=(rows, 2 * columns), raw_dtype=gguf.GGMLQuantizationType.BF16)

    def vector(self, name: str, values: np.ndarray) -> None:
        self.writer.add_tensor(name, values.astype(np.float32))

    def ones(self, name: str, count: int) -> None:
        self.vector(f"{name}.weight", np.ones(count))

    def layer(self, index: int) -> None:
        block = f"blk.{index}"
        self.ones(f"{block}.attn_norm", shape.HIDDEN)
        self.ones(f"{block}.post_attention_norm", shape.HIDDEN)
        if shape.attends(index):
            self.ones(f"{block}.attn_q_norm", shape.HEAD)
            self.ones(f"{block}.attn_k_norm", shape.HEAD)
        else:
            heads = shape.DELTA_VALUE_HEADS
            self.vector(f"{block}.ssm_conv1d.weight",
                        self.random.uniform(-0.5, 0.5, (shape.DELTA_CHANNELS, shape.CONVOLUTION)))
            self.vector(f"{block}.ssm_dt.bias", self.random.uniform(-1, 1, heads))
            self.vector(f"{block}.ssm_a", -self.random.uniform(0.1, 8, heads))
            self.ones(f"{block}.ssm_norm", shape.DELTA_HEAD)
        for name, (rows, columns) in shape.layer_matrices(index).items():
            self.matrix(f"{block}.{name}", rows, columns)


def write(path: Path) -> None:
    part = path.with_suffix(".part")
    writer = gguf.GGUFWriter(part, "qwen35")
    describe(writer)
    tensors = Tensors(writer)
    tensors.matrix("token_embd", shape.VOCABULARY, shape.HIDDEN)  # also the output matrix: tied
    tensors.ones("output_norm", shape.HIDDEN)
    for index in range(shape.LAYERS):
        tensors.layer(index)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    part.rename(path)


def quantise(source: Path, target: Path, name: str) -> None:
    import llama_cpp
    part = target.with_suffix(".part")
    options = llama_cpp.llama_model_quantize_default_params()
    options.ftype = getattr(llama_cpp, QUANTISED[name])
    options.nthread = os.cpu_count()
    status = llama_cpp.llama_model_quantize(bytes(source), bytes(part), ctypes.byref(options))
    if status != 0:
        raise SystemExit(f"llama.cpp could not quantise {source} to {name}: status {status}")
    part.rename(target)


def main() -> None:
    if len(sys.argv) != 2:
        raise SystemExit("usage: random_gguf.py FOLDER")
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    source = folder / "bf16.gguf"
    if not source.exists():
        write(source)
    for name in QUANTISED:
        target = folder / f"{name}.gguf"
        if not target.exists():
            quantise(source, target, name)


if __name__ == "__main__":
    main()
