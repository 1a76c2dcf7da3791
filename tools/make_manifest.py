#!/usr/bin/env python3
"""Writes or checks tests/fixtures/MANIFEST: SHA-256, bytes and path of every fixture, with its origin.

    tools/make_manifest.py            write it
    tools/make_manifest.py --check    end with status 1 when a fixture and its line differ

A line that starts with '#' tells where the files below it come from; ORIGINS holds these texts.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
from pathlib import Path

FIXTURES = Path(__file__).resolve().parent.parent / "tests" / "fixtures"

REFERENCE = "the published reference (joint_schema_model.py) on transformers 5.10.2, torch 2.13.0, CPU, fp32; November 2026"
# Folder or file -> generator and what it asked, longest match first.
ORIGINS: dict[str, str] = {
    "clef-tiny": f"tools/tiny_model/make_expected.py, from models/clef-tiny and {REFERENCE}",
    "configs": "dimensions of published base models, written by hand; see the README there",
    "configs/clef": "the published releases, byte for byte",
    "configs/clef-flash": "the published releases, byte for byte",
    "layers": f"tools/goldens/make_layers.py, from {REFERENCE}",
    "media": "tools/goldens/make_videos.py, PyAV 18.1.0; November 2026",
    "media/as-seen": "tools/goldens/make_as_seen.py, pillow 13.0.0; December 2026",
    "media/pillow-resize.jsonl": "tools/goldens/make_pillow_resize.py, from pillow 12.3.0; November 2026",
    "numbers": f"tools/goldens/make_numbers.py, from {REFERENCE}",
    "tiny-random/media": f"tools/goldens/make_media.py with media-plan.json, from {REFERENCE}, torchvision 0.28.0, pillow 13.0.0",
    "tiny-random/media/images": "tools/goldens/pictures.py --seed 500, pillow 13.0.0; November 2026",
    "tiny-random/media/frames.safetensors": "tools/goldens/record_frames.py, from the frames of the videos, Pillow 13.0.0; November 2026",
    "tiny-random/release": "tools/goldens/make_release.py, random weights, seed 20; November 2026",
    "tiny-random/text": f"tools/goldens/text_requests.py and make_text.py, from {REFERENCE}",
    "tokenizer": "tools/goldens/make_tokenizer.py, from tokenizers 0.22.2; November 2026",
    "tokenizer/nfc.jsonl": "tools/make_unicode_tables.py --cases, from tokenizers 0.23.3; November 2026",
    "tokenizer/real": "tools/goldens/make_cases.py, make_records.py and make_decode.py, from tokenizers 0.23.3; November 2026",
    "tokenizer/small": "tools/goldens/make_small.py, from tokenizers 0.23.3; November 2026",
    "tokenizer/small-pairs": "tools/goldens/make_small.py, from tokenizers 0.23.3; November 2026",
}


def origin_of(name: str) -> str:
    for folder in sorted(ORIGINS, key=len, reverse=True):
        if f"{name}/".startswith(f"{folder}/"):
            return ORIGINS[folder]
    return "written by hand"


def manifest_of(root: Path) -> str:
    lines, origin = [], ""
    for path in sorted(path for path in root.rglob("*") if path.is_file() and path.name != "MANIFEST"):
        name, data = path.relative_to(root).as_posix(), path.read_bytes()
        if origin_of(name) != origin:
            origin = origin_of(name)
            lines.append(f"# {origin}")
        lines.append(f"{hashlib.sha256(data).hexdigest()} {len(data):9d} {name}")
    return "\n".join(lines) + "\n"


def differences(old: str, new: str) -> list[str]:
    before, after = set(old.splitlines()), set(new.splitlines())
    names = sorted({line.split()[-1] for line in before ^ after if not line.startswith("#")})
    return names or ["the comments"] * (before != after or old != new)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--root", type=Path, default=FIXTURES)
    arguments = parser.parse_args()
    manifest, text = arguments.root / "MANIFEST", manifest_of(arguments.root)
    if not arguments.check:
        manifest.write_text(text, encoding="utf-8")
        print(f"{manifest.name}: {sum(not line.startswith('#') for line in text.splitlines())} files")
        return 0
    changed = differences(manifest.read_text(encoding="utf-8") if manifest.exists() else "", text)
    for name in changed:
        print(f"tests/fixtures/{name}: differs from its line in MANIFEST (tools/make_manifest.py writes it)")
    if not changed:
        print("manifest: every fixture is as recorded")
    return 1 if changed else 0


if __name__ == "__main__":
    sys.exit(main())
