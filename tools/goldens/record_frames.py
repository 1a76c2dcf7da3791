"""Write the resized frames of the videos of `media/`, so that the vision tower can be tested without a decoder.

    python record_frames.py --images DIR --media DIR --out FILE

DIR of images holds `frames/` and `frames-odd/`; DIR of media holds `videos.jsonl`, whose hashes of the resized frames
are checked. FILE gets one tensor a frame, `frames/00.png` [height, width, 3] uint8. Needs Pillow 13.0.0 and numpy.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import struct
from pathlib import Path

import numpy as np
from PIL import Image

import resize_u8

# Frames of the recorded videos and requests.
WANTED = ["frames/" + name for name in ("00", "02", "05", "07", "10", "14", "19", "21", "29")]
WANTED += ["frames-odd/" + name for name in ("00", "01", "02", "03", "04")]
SIZES = {"frames": (64, 96), "frames-odd": (64, 64)}


def write_tensors(path: Path, tensors: dict[str, np.ndarray]) -> None:
    header, data = {}, b""
    for name, array in tensors.items():
        header[name] = {"dtype": "U8", "shape": list(array.shape), "data_offsets": [len(data), len(data) + array.nbytes]}
        data += array.tobytes()
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--images", required=True, type=Path)
    parser.add_argument("--media", required=True, type=Path)
    parser.add_argument("--out", required=True, type=Path)
    arguments = parser.parse_args()
    tensors = {}
    for name in WANTED:
        pixels = np.asarray(Image.open(arguments.images / f"{name}.png").convert("RGB"))
        tensors[f"{name}.png"] = np.ascontiguousarray(resize_u8.resize(pixels, *SIZES[name.split("/")[0]]))
    for line in (arguments.media / "videos.jsonl").read_text().splitlines():
        video = json.loads(line)
        files = [video["frames"][index] for index in video.get("sampled_indices") or []]
        size = (video.get("resized_height"), video.get("resized_width"))
        if len(files) > 1 and all(name in tensors and tensors[name].shape[:2] == size for name in files):
            found = hashlib.sha256(b"".join(tensors[name].tobytes() for name in files)).hexdigest()
            assert found == video["resized_sha256"], video["name"]
            print("checked", video["name"])
    write_tensors(arguments.out, tensors)


if __name__ == "__main__":
    main()
