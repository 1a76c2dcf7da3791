"""Write pictures that we read otherwise than the reference as PNG files that hold what the reference sees.

    python make_as_seen.py MEDIA FOLDER

A GIF, which is refused, and 16 bits of grey, which are scaled instead of clipped. Needs pillow; checks the pixels against
MEDIA/images.jsonl.
"""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path

from PIL import Image

NAMES = ("palette-33x47.gif", "grey16-60x75.png")


def main() -> None:
    media, folder = Path(sys.argv[1]), Path(sys.argv[2])
    rows = [json.loads(line) for line in (media / "images.jsonl").read_text(encoding="utf-8").splitlines()]
    recorded = {row["file"]: row["rgb_sha256"] for row in rows if "rgb_sha256" in row}
    folder.mkdir(exist_ok=True)
    for name in NAMES:
        with Image.open(media / "images" / name) as picture:
            seen = picture.convert("RGB")
        assert hashlib.sha256(seen.tobytes()).hexdigest() == recorded[name], name
        seen.save(folder / f"{name}.png", optimize=True)


if __name__ == "__main__":
    main()
