#!/usr/bin/env python3
"""Writes a model directory of a published shape, in the layout of the releases, with weights by formula.

    tools/make_model.py SHAPE -o DIR [--layers N] [--precision bf16] [--vocabulary ROWS] [--head]
                        [--no-vision] [--tokenizer FILE]

SHAPE is clef-flash, clef or qwen3.5-0.8b: the configurations under tests/fixtures/configs. Such a model has the
size, the files and the tensors of the published one, and answers requests in its time and its memory; what it
answers means nothing. --layers keeps the first N layers; --head gives a base model the head of clef-flash, without
which nothing can be asked; --vocabulary cuts the embedding and output matrices; --no-vision leaves out the tower.
--precision is how the weights are stored: bf16 (as published), f16, f32, or int8, int4 and mixed as `clef quantize`
stores them. The tokenizer is that of models/clef-tiny unless another file is given; ids in config.json follow it.

Numbers: one list of 262,139 (a prime) numbers from splitmix64, uniform in [-1, 1), is read round and round, each
tensor from a place of its own. Matrices are scaled to the variance 1 / columns and vectors lie around the value
that does nothing (src/engine/made_weights.c has the same ranges), so activations keep their size from layer to
layer. Writing is copying, so the disk sets the time, and memory stays below 100 MB for any size.
"""

from __future__ import annotations

import argparse
import array
import json
import math
import shutil
import struct
import sys
from functools import lru_cache
from pathlib import Path
from typing import Any, BinaryIO, Iterator

ROOT = Path(__file__).resolve().parent.parent
TINY = ROOT / "models/clef-tiny"
CONFIGS = ROOT / "tests/fixtures/configs"
SHAPES = {"clef-flash": "clef-flash", "clef": "clef", "qwen3.5-0.8b": "base-0.8b"}
PRECISIONS = ("bf16", "f16", "f32", "int8", "int4", "mixed")
ELEMENT_BYTES = {"BF16": 2, "F16": 2, "F32": 4, "I8": 1, "U8": 1}

NUMBER_COUNT = 262_139
WRITE_BYTES = 8 << 20
FILE_BYTES = 5_000_000_000
M64 = (1 << 64) - 1

Shape = tuple[int, ...]
Json = dict[str, Any]

# ---- numbers -------------------------------------------------------------------------------------------------------

# Uniform in middle ± spread, by the end of the name; the first that fits. Ranges of src/engine/made_weights.c.
VECTOR_RANGES = (
    ("linear_attn.A_log", 1.0, 1.0),
    ("linear_attn.dt_bias", 0.0, 1.0),
    ("linear_attn.conv1d.weight", 0.0, 0.5),
    ("linear_attn.norm.weight", 1.0, 0.1),
    ("bias", 0.0, 0.02),
    ("layernorm.weight", 0.0, 0.1),  # the backbone's are used as 1 + weight
    ("language_model.norm.weight", 0.0, 0.1),
    ("q_norm.weight", 0.0, 0.1),
    ("k_norm.weight", 0.0, 0.1),
    ("", 1.0, 0.1),
)


def find_range(name: str, shape: Shape) -> tuple[float, float]:
    if len(shape) == 2 or len(shape) == 5:  # matrices, and the one convolution that is one
        return 0.0, math.sqrt(3.0 / math.prod(shape[1:]))
    return next((middle, spread) for end, middle, spread in VECTOR_RANGES if name.endswith(end))


def fnv1a(text: str) -> int:
    state = 0xCBF29CE484222325
    for byte in text.encode():
        state = ((state ^ byte) * 0x100000001B3) & M64
    return state


@lru_cache(maxsize=1)
def numbers() -> array.array[int]:
    """Integers in [-32768, 32768), four from each word of splitmix64."""
    state, words = 1, array.array("Q")
    for _ in range(NUMBER_COUNT // 4 + 1):
        state = (state + 0x9E3779B97F4A7C15) & M64
        z = ((state ^ state >> 30) * 0xBF58476D1CE4E5B9) & M64
        z = ((z ^ z >> 27) * 0x94D049BB133111EB) & M64
        words.append(z ^ z >> 31)
    return array.array("h", words.tobytes())[:NUMBER_COUNT]


@lru_cache(maxsize=4)
def encode(dtype: str, middle: float, spread: float) -> bytes:
    """The list of numbers in this type and range, often enough to be written in large pieces."""
    if dtype == "I8":
        data = array.array("b", (max(number >> 8, -127) for number in numbers())).tobytes()
    elif dtype == "U8":
        data = array.array("B", (number & 0xFF for number in numbers())).tobytes()
    else:
        values = [middle + spread * number / 32768 for number in numbers()]
        if dtype == "F16":
            data = struct.pack(f"<{len(values)}e", *values)
        else:
            data = array.array("f", values).tobytes()
        if dtype == "BF16":  # to nearest, ties to even
            words = array.array("I", data)
            data = array.array("H", (word + 0x7FFF + (word >> 16 & 1) >> 16 for word in words)).tobytes()
    return data * (WRITE_BYTES // len(data) + 2)


def write_numbers(out: BinaryIO, name: str, dtype: str, count: int, middle: float, spread: float) -> None:
    size = ELEMENT_BYTES[dtype]
    data = memoryview(encode(dtype, middle, spread))
    at = fnv1a(name) % NUMBER_COUNT
    while count > 0:
        piece = min(count, WRITE_BYTES // size)
        out.write(data[at * size : (at + piece) * size])
        at = (at + piece) % NUMBER_COUNT
        count -= piece


# ---- tensors -------------------------------------------------------------------------------------------------------


class Tensor:
    def __init__(self, name: str, dtype: str, shape: Shape, middle: float, spread: float) -> None:
        self.name, self.dtype, self.shape, self.range = name, dtype, shape, (middle, spread)
        self.count = math.prod(shape)
        self.bytes = self.count * ELEMENT_BYTES[dtype]


def store(name: str, shape: Shape, precision: str) -> Iterator[Tensor]:
    """A tensor as stored: one, or a quantised matrix and its scales."""
    dtype = {"bf16": "BF16", "f16": "F16", "f32": "F32"}.get(precision)
    middle, spread = find_range(name, shape)
    if dtype:
        yield Tensor(name, dtype, shape, middle, spread)
        return
    rows, columns = shape
    is_table = ".layers." not in name
    is_int4 = precision == "int4" and columns % 32 == 0 and not is_table
    group = columns if is_table else 32 if is_int4 else 64
    scale = spread / (8 if is_int4 else 127)
    yield Tensor(name, "U8" if is_int4 else "I8", (rows, columns // 2 if is_int4 else columns), 0, 0)
    yield Tensor(name + ".scale", "F32", (rows, -(-columns // group)), scale, scale / 10)


def list_layer(text: Json, index: int) -> Iterator[tuple[str, Shape]]:
    hidden, middle = text["hidden_size"], text["intermediate_size"]
    yield "input_layernorm.weight", (hidden,)
    yield "post_attention_layernorm.weight", (hidden,)
    yield "mlp.gate_proj.weight", (middle, hidden)
    yield "mlp.up_proj.weight", (middle, hidden)
    yield "mlp.down_proj.weight", (hidden, middle)
    if text["layer_types"][index] == "full_attention":
        size = text["head_dim"]
        query, key = text["num_attention_heads"] * size, text["num_key_value_heads"] * size
        yield "self_attn.q_proj.weight", (2 * query, hidden)
        yield "self_attn.k_proj.weight", (key, hidden)
        yield "self_attn.v_proj.weight", (key, hidden)
        yield "self_attn.o_proj.weight", (hidden, query)
        yield "self_attn.q_norm.weight", (size,)
        yield "self_attn.k_norm.weight", (size,)
    else:
        heads, size = text["linear_num_value_heads"], text["linear_value_head_dim"]
        value = heads * size
        channels = 2 * text["linear_num_key_heads"] * text["linear_key_head_dim"] + value
        yield "linear_attn.in_proj_qkv.weight", (channels, hidden)
        yield "linear_attn.in_proj_z.weight", (value, hidden)
        yield "linear_attn.in_proj_b.weight", (heads, hidden)
        yield "linear_attn.in_proj_a.weight", (heads, hidden)
        yield "linear_attn.conv1d.weight", (channels, 1, text["linear_conv_kernel_dim"])
        yield "linear_attn.A_log", (heads,)
        yield "linear_attn.dt_bias", (heads,)
        yield "linear_attn.norm.weight", (size,)
        yield "linear_attn.out_proj.weight", (hidden, value)


def list_affine(name: str, rows: int, columns: int) -> Iterator[tuple[str, Shape]]:
    yield name + ".weight", (rows, columns)
    yield name + ".bias", (rows,)


def list_norm(name: str, size: int) -> Iterator[tuple[str, Shape]]:
    yield name + ".weight", (size,)
    yield name + ".bias", (size,)


def list_vision(vision: Json) -> Iterator[tuple[str, Shape]]:
    size, middle, patch = vision["hidden_size"], vision["intermediate_size"], vision["patch_size"]
    yield "patch_embed.proj.weight", (size, vision["in_channels"], vision["temporal_patch_size"], patch, patch)
    yield "patch_embed.proj.bias", (size,)
    yield "pos_embed.weight", (vision["num_position_embeddings"], size)
    for i in range(vision["depth"]):
        yield from list_norm(f"blocks.{i}.norm1", size)
        yield from list_norm(f"blocks.{i}.norm2", size)
        yield from list_affine(f"blocks.{i}.attn.qkv", 3 * size, size)
        yield from list_affine(f"blocks.{i}.attn.proj", size, size)
        yield from list_affine(f"blocks.{i}.mlp.linear_fc1", middle, size)
        yield from list_affine(f"blocks.{i}.mlp.linear_fc2", size, middle)
    merged = vision["spatial_merge_size"] ** 2 * size
    yield from list_norm("merger.norm", size)
    yield from list_affine("merger.linear_fc1", merged, merged)
    yield from list_affine("merger.linear_fc2", vision["out_hidden_size"], merged)


def list_backbone(config: Json, precision: str) -> Iterator[Tensor]:
    text = config["text_config"]
    table = text["vocab_size"], text["hidden_size"]
    # What `clef quantize` leaves as it is stays as published.
    exact = precision if precision in ("bf16", "f16", "f32") else "bf16"
    yield from store("model.language_model.embed_tokens.weight", table, precision)
    for layer in range(text["num_hidden_layers"]):
        half = -(-text["num_hidden_layers"] // 2)
        of_layer = precision if precision != "mixed" else "int8" if layer < half else "int4"
        for local, shape in list_layer(text, layer):
            is_exact = len(shape) != 2 or "in_proj_a" in local or "in_proj_b" in local
            yield from store(f"model.language_model.layers.{layer}.{local}", shape, exact if is_exact else of_layer)
    yield from store("model.language_model.norm.weight", (text["hidden_size"],), exact)
    if not config["tie_word_embeddings"]:
        yield from store("lm_head.weight", table, precision)
    if "vision_config" in config:
        for local, shape in list_vision(config["vision_config"]):
            yield from store("model.visual." + local, shape, exact)


def list_attention(name: str, width: int) -> Iterator[tuple[str, Shape]]:
    yield name + ".in_proj_weight", (3 * width, width)
    yield name + ".in_proj_bias", (3 * width,)
    yield from list_affine(name + ".out_proj", width, width)


def list_head(head: Json) -> Iterator[tuple[str, Shape]]:
    hidden, width, forward = head["hidden_size"], head["width"], head["feedforward"]
    yield from list_norm("hidden_norm", hidden)
    for name in ("memory", "question", "option_question", "global", "option_context", "option_lexical"):
        yield name + "_projection.weight", (width, hidden)
    yield "type_embedding.weight", (3, width)
    for name in ("option_summary_norm", "field_norm", "option_norm"):
        yield from list_norm(name, width)
    yield from list_affine("residual_scorer.0", width, 4 * width)
    yield from list_affine("residual_scorer.3", 1, width)
    for name in ("prior_logit_scale", "joint_logit_scale", "residual_gate"):
        yield name, ()
    for i in range(head["routing_layers"]):
        for name in ("query_norm", "memory_norm", "feedforward_norm"):
            yield from list_norm(f"evidence_layers.{i}.{name}", width)
        yield from list_attention(f"evidence_layers.{i}.attention", width)
        yield from list_affine(f"evidence_layers.{i}.feedforward.0", forward, width)
        yield from list_affine(f"evidence_layers.{i}.feedforward.3", width, forward)
    for i in range(head["layers"]):
        for name in ("self_attn", "multihead_attn"):
            yield from list_attention(f"layers.{i}.{name}", width)
        yield from list_affine(f"layers.{i}.linear1", forward, width)
        yield from list_affine(f"layers.{i}.linear2", width, forward)
        for name in ("norm1", "norm2", "norm3"):
            yield from list_norm(f"layers.{i}.{name}", width)


# ---- files ---------------------------------------------------------------------------------------------------------


def write_file(path: Path, tensors: list[Tensor]) -> None:
    header: Json = {"__metadata__": {"format": "pt"}}
    end = 0
    for tensor in tensors:
        header[tensor.name] = {"dtype": tensor.dtype, "shape": tensor.shape, "data_offsets": [end, end + tensor.bytes]}
        end += tensor.bytes
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with path.open("wb", buffering=0) as out:
        out.write(len(text).to_bytes(8, "little") + text)
        for tensor in tensors:
            write_numbers(out, tensor.name, tensor.dtype, tensor.count, *tensor.range)


def split(tensors: list[Tensor]) -> list[list[Tensor]]:
    """Runs of tensors of at most FILE_BYTES each."""
    files: list[list[Tensor]] = [[]]
    size = 0
    for tensor in tensors:
        if size + tensor.bytes > FILE_BYTES and files[-1]:
            files.append([])
            size = 0
        files[-1].append(tensor)
        size += tensor.bytes
    return files


def write_weights(directory: Path, tensors: list[Tensor]) -> None:
    files = split(tensors)
    names = [f"model-{i + 1:05}-of-{len(files):05}.safetensors" for i in range(len(files))]
    for name, part in zip(names, files):
        write_file(directory / name, part)
    index = {"metadata": {"total_size": sum(tensor.bytes for tensor in tensors)},
             "weight_map": {tensor.name: name for name, part in zip(names, files) for tensor in part}}
    write_json(directory / "model.safetensors.index.json", index)


def write_json(path: Path, value: Json) -> None:
    path.write_text(json.dumps(value, indent=2) + "\n", encoding="utf-8")


def make_config(options: argparse.Namespace, tokens: dict[str, int]) -> Json:
    config: Json = json.loads((CONFIGS / SHAPES[options.shape] / "config.json").read_text(encoding="utf-8"))
    text = config["text_config"]
    count = len(text["layer_types"])
    if not 0 <= options.layers <= count:
        sys.exit(f"make_model.py: --layers {options.layers}: {options.shape} has {count} layers")
    text["layer_types"] = text["layer_types"][: options.layers or count]
    text["num_hidden_layers"] = len(text["layer_types"])
    text["vocab_size"] = options.vocabulary or text["vocab_size"]
    if max(tokens.values()) >= text["vocab_size"]:
        sys.exit(f"make_model.py: the tokenizer has ids up to {max(tokens.values())}, over {text['vocab_size']} rows")
    text["eos_token_id"] = tokens["<|endoftext|>"]
    text["bos_token_id"] = None
    for field, token in (("image_token_id", "<|image_pad|>"), ("video_token_id", "<|video_pad|>"),
                         ("vision_start_token_id", "<|vision_start|>"), ("vision_end_token_id", "<|vision_end|>")):
        config[field] = tokens[token]
    if options.no_vision:
        del config["vision_config"]
    return config


def make_head(options: argparse.Namespace, config: Json) -> Json | None:
    path = CONFIGS / SHAPES[options.shape] / "joint_head_config.json"
    if not path.exists() and not options.head:
        return None
    path = path if path.exists() else CONFIGS / "clef-flash/joint_head_config.json"
    return {**json.loads(path.read_text(encoding="utf-8")), "hidden_size": config["text_config"]["hidden_size"]}


def make_model(options: argparse.Namespace) -> None:
    directory: Path = options.output
    tokenizer = json.loads(options.tokenizer.read_text(encoding="utf-8"))
    tokens = {token["content"]: token["id"] for token in tokenizer["added_tokens"]}
    config = make_config(options, tokens)
    head = make_head(options, config)
    directory.mkdir(parents=True)
    write_json(directory / "config.json", config)
    shutil.copyfile(options.tokenizer, directory / "tokenizer.json")
    for name in ("chat_template.jinja", "generation_config.json", "processor_config.json", "tokenizer_config.json"):
        shutil.copyfile(TINY / name, directory / name)
    write_weights(directory, list(list_backbone(config, options.precision)))
    if head:
        exact = options.precision if options.precision in ("f16", "f32") else "bf16"
        write_json(directory / "joint_head_config.json", head)
        write_file(directory / "joint_head.safetensors",
                   [tensor for name, shape in list_head(head) for tensor in store(name, shape, exact)])


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("shape", choices=SHAPES, metavar="SHAPE", help=", ".join(SHAPES))
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="DIR", help="must not exist")
    parser.add_argument("--layers", type=int, default=0, metavar="N", help="the first N layers; 0: all")
    parser.add_argument("--precision", choices=PRECISIONS, default="bf16", help="how weights are stored")
    parser.add_argument("--vocabulary", type=int, default=0, metavar="ROWS", help="rows of the embedding matrix")
    parser.add_argument("--head", action="store_true", help="a joint head also for a base model")
    parser.add_argument("--no-vision", action="store_true", help="leave out the vision tower")
    parser.add_argument("--tokenizer", type=Path, default=TINY / "tokenizer.json", metavar="FILE")
    options = parser.parse_args()
    if options.output.exists():
        parser.error(f"{options.output} exists")
    make_model(options)


if __name__ == "__main__":
    main()
