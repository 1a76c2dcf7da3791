#!/usr/bin/env python3
"""Writes the first inputs of the fuzz targets, tests/fuzz/corpus/<target>/seed-*, from the fixtures.

    tools/make_fuzz_corpus.py

Inputs are small and few: one of each kind of thing, right and wrong; the fuzzer finds the rest. Only files
named seed-* are written and removed; inputs that once broke something have other names and stay.
"""

from __future__ import annotations

import hashlib
import json
import struct
from pathlib import Path
from typing import Iterator

ROOT = Path(__file__).resolve().parent.parent
FIXTURES = ROOT / "tests" / "fixtures"
CORPUS = ROOT / "tests" / "fuzz" / "corpus"


def rows(name: str) -> list[dict]:
    return [json.loads(line) for line in (FIXTURES / name).read_text(encoding="utf-8").split("\n") if line]


def spread(items: list, count: int) -> list:
    """About `count` of them, evenly from first to last."""
    return items[::max(1, len(items) // count)]


def json_texts() -> Iterator[bytes]:
    for row in spread(rows("numbers/render.jsonl"), 60):
        yield row["json"].encode()
    yield (ROOT / "examples" / "demo.json").read_bytes()
    yield from (b"", b"{", b"[1,]", b'{"a":1,"a":2}', b"01", b"1.", b"nul", b'"\\ud800"', b'"\\ud83d\\ude00"', b"\xff", b"\xef\xbb\xbf1",
                b"[" * 300 + b"]" * 300, b"1e999", b"NaN", b' {"k" : [ true , null ] } ', b'"\x01"', b"1 2")


def request_bodies() -> Iterator[bytes]:
    """The first byte holds the switches: 1 small limit, 2 truncate, 4 parse control tokens."""
    accepted = [row["request"].encode() for row in rows("tiny-random/text/requests.jsonl")]
    for number, body in enumerate(sorted(accepted, key=len)[:20]):
        yield bytes([number % 8]) + body
    for number, row in enumerate(rows("tiny-random/text/refused.jsonl")):
        yield bytes([number % 8]) + row["request"].encode()


def safetensors(header: object, data: bytes, stated: int | None = None) -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text) if stated is None else stated) + text + data


def weight_files() -> Iterator[bytes]:
    tensor = {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}
    half = {"dtype": "BF16", "shape": [4], "data_offsets": [24, 32]}
    yield safetensors({"a": tensor, "b.weight": half}, bytes(range(32)))
    yield safetensors({"__metadata__": {"format": "pt"}, "a": tensor}, bytes(24))
    yield safetensors({}, b"")
    yield safetensors({"scalar": {"dtype": "I64", "shape": [], "data_offsets": [0, 8]}}, bytes(8))
    yield safetensors({"none": {"dtype": "F16", "shape": [0, 4], "data_offsets": [0, 0]}}, b"")
    yield safetensors({"a": tensor, "b": {**half, "data_offsets": [16, 24]}}, bytes(24))           # overlap
    yield safetensors({"a": tensor, "b": {**half, "data_offsets": [32, 40]}}, bytes(40))           # hole
    yield safetensors({"a": {**tensor, "shape": [2**40, 2**40]}}, bytes(24))                       # overflow
    yield safetensors({"a": {**tensor, "dtype": "F31"}}, bytes(24))
    yield safetensors({"a": tensor}, bytes(23))
    yield safetensors({"a": tensor}, bytes(25))
    yield safetensors(b'{"a":1,"a":2}', b"")
    yield safetensors(b"{} ", b"", stated=2**63)
    yield safetensors({"a": tensor}, bytes(24), stated=4)
    yield b"\x02\x00\x00"
    yield b'{"metadata":{"total_size":32},"weight_map":{"a":"model-1.safetensors","b":"model-2.safetensors"}}'
    yield b'{"weight_map":{"a":"../model.safetensors"}}'
    yield b'{"weight_map":{"a":1}}'


def tokenizer_files() -> Iterator[bytes]:
    whole = json.loads((FIXTURES / "tokenizer" / "small" / "tokenizer.json").read_text(encoding="utf-8"))
    # The 256 bytes, the first merges, and the added tokens moved behind them.
    merges = whole["model"]["merges"][:12]
    by_id = sorted(whole["model"]["vocab"].items(), key=lambda entry: entry[1])
    words = [word for word, _ in by_id if len(word) == 1] + ["".join(pair.split(" ")) for pair in merges]
    tiny = {**whole, "model": {**whole["model"], "vocab": {word: number for number, word in enumerate(dict.fromkeys(words))},
                               "merges": merges}}
    count = len(tiny["model"]["vocab"])
    tiny["added_tokens"] = [{**token, "id": count + place} for place, token in enumerate(whole["added_tokens"][:4])]

    def changed(**model: object) -> bytes:
        return json.dumps({**tiny, "model": {**tiny["model"], **model}}, ensure_ascii=False).encode()

    yield json.dumps(tiny, ensure_ascii=False).encode()
    yield changed(merges=[pair.split(" ") for pair in merges])
    yield changed(merges=[])
    yield changed(merges=["a  b"])
    yield changed(merges=["a zz"])
    yield changed(vocab={})
    yield changed(vocab={**tiny["model"]["vocab"], "zz": 2**32})
    yield changed(type="WordPiece")
    yield json.dumps({**tiny, "added_tokens": [{"id": 0, "content": "a", "special": True}]}, ensure_ascii=False).encode()
    yield json.dumps({**tiny, "pre_tokenizer": None}, ensure_ascii=False).encode()
    yield b"{}"


def tokenizer_texts() -> Iterator[bytes]:
    """The first byte holds the switches: 1 the other split pattern, 2 parse control tokens."""
    texts = [row["text"] for row in rows("tokenizer/strings.jsonl")]
    for number, text in enumerate(spread([text for text in texts if len(text) < 400], 60)):
        yield bytes([number % 4]) + text.encode("utf-8", "surrogatepass")


def pictures(*names: str) -> Iterator[bytes]:
    for name in names:
        yield (FIXTURES / "tiny-random" / "media" / "images" / name).read_bytes()


def jpeg_files() -> Iterator[bytes]:
    return pictures("exif-rotated-60x120.jpg", "jpeg-grey-150x90.jpg", "jpeg-cmyk-64x64.jpg", "jpeg422-101x203.jpg")


def png_files() -> Iterator[bytes]:
    return pictures("rgb-1x1.png", "rgb-16x16.png", "palette-transparent-70x60.png", "bilevel-40x300.png", "grey-alpha-50x50.png",
                    "frames-odd/03.png")


def webp_files() -> Iterator[bytes]:
    return pictures("lossy-200x300.webp", "lossless-90x70.webp")


def any_files() -> Iterator[bytes]:
    """The first bytes hold the switches: 1 leave orientation, 2 the other rule, 4 small budget; then pixels by 256."""
    wanted = [next(jpeg_files()), *list(png_files())[:3], next(webp_files())]
    wanted += list(pictures("palette-33x47.gif")) + [b"<svg/>", b"%PDF-1.7", b"", b"BM" + bytes(12) + b"(" + bytes(3)]
    for number, file in enumerate(wanted):
        yield bytes([number % 8, 16]) + file


def video_files() -> Iterator[bytes]:
    file = (FIXTURES / "media/counted.mp4").read_bytes()
    yield from (file, file[:1000], (FIXTURES / "media/counted.mkv").read_bytes()[:6000], b"", b"#EXTM3U\n#EXTINF:1,\n/etc/passwd\n",
                b"ffconcat version 1.0\nfile '/etc/passwd'\n", next(png_files()))


def media_texts() -> Iterator[bytes]:
    yield from (b"", b"QUJD", b"QUI=", b"QQ==", b"_-8", b"/+8", b"Q Q\n=\t=", b"QQ=", b"data:;base64,QUJD", b"DATA:image/png;BASE64,QUJD",
                b"data:text/plain,x", b"https://example.com/a.png", b"ftp://a", b"+-", b"QUJDQ", b"QUJDQUJDQUJDQUJDQUJDQUJD")


def http_requests() -> Iterator[bytes]:
    """Heads and chunked bodies; the first byte chooses where they are cut."""
    texts = [b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", b"POST /a?b=c HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}",
             b"POST http://x/a HTTP/1.0\r\nConnection: keep-alive, close\r\nExpect: 100-continue\r\n\r\n",
             b"PUT / HTTP/1.1\r\nHost:\r\nTransfer-Encoding: chunked\r\nX:\t a \r\n\r\n", b"OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n",
             b"GET / HTTP/2.0\r\n\r\n", b"GET / HTTP/1.1\nHost: x\n\n", b"GET / HTTP/1.1\r\nA : b\r\n c\r\n\r\n", b"\0",
             b"3\r\nabc\r\n0\r\n\r\n", b"2;a=\"b\"\r\n{}\r\n000\r\nT: v\r\n\r\n", b"FFFFFFFFFFFFFFFF\r\n", b"1 \r\n", b"1\na\n0\n\n"]
    for number, text in enumerate(texts):
        yield bytes([number]) + text
def digest(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=32).digest()


def kept_states() -> Iterator[bytes]:
    """Files of src/state/prefix_file.h: pages and fixed part of a few floats."""
    def kept(start: int = 0, position: int = 64, page_floats: int = 16, fixed_floats: int = 8, magic: bytes = b"clefkep1") -> bytes:
        pages = max(0, position - start) // 64
        tokens = struct.pack(f"<{pages * 64}I", *range(pages * 64))
        content = struct.pack(f"<{pages * page_floats}f", *[i / 4 for i in range(pages * page_floats)])
        fixed = struct.pack(f"<{fixed_floats}f", *[1.5] * fixed_floats)
        header = magic + struct.pack("<4Q", start, position, page_floats, fixed_floats)
        header += digest(b"identity") + digest(b"key") + digest(b"parent") + digest(tokens + content) + digest(fixed)
        header = header.ljust(320 - 32, b"\0")
        return header + digest(header) + tokens + content + fixed
    whole = kept()
    yield from (whole, kept(64, 256), kept(position=192, page_floats=0, fixed_floats=0), kept(magic=b"clefkep9"), kept(64, 64),
                kept(position=65), kept(128, 64), whole[:-1], whole + b"\0", whole[:320], whole[:100], b"")
    for place in (3, 9, 17, 25, 200, 300, 330, len(whole) - 1):
        yield whole[:place] + bytes([whole[place] ^ 64]) + whole[place + 1:]


TARGETS = {
    "fuzz_http": http_requests,
    "fuzz_jpeg": jpeg_files,
    "fuzz_json": json_texts,
    "fuzz_media_text": media_texts,
    "fuzz_picture": any_files,
    "fuzz_png": png_files,
    "fuzz_prefix_file": kept_states,
    "fuzz_request": request_bodies,
    "fuzz_safetensors": weight_files,
    "fuzz_tokenizer_json": tokenizer_files,
    "fuzz_tokenizer_text": tokenizer_texts,
    "fuzz_video": video_files,
    "fuzz_webp": webp_files,
}


def main() -> None:
    for target, inputs in TARGETS.items():
        folder = CORPUS / target
        folder.mkdir(parents=True, exist_ok=True)
        for old in folder.glob("seed-*"):
            old.unlink()
        seeds = list(dict.fromkeys(inputs()))
        for number, seed in enumerate(seeds):
            (folder / f"seed-{number:03d}").write_bytes(seed)
        print(f"{target}: {len(seeds)} inputs, {sum(map(len, seeds))} bytes")


if __name__ == "__main__":
    main()
