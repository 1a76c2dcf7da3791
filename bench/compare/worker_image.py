#!/usr/bin/env python3
"""Worker: a JPEG to patches with Pillow and the image processor of transformers.

    worker_image.py PICTURE.jpg THREADS

Request {"work": "image", "runs": n}: decode, resize to multiples of 32 and cut into normalised patches. Answer
{"seconds": median, "patches": n}.
"""

from __future__ import annotations

import io
import sys
from pathlib import Path

import PIL.Image
import torch
import transformers
from transformers import Qwen2VLImageProcessor

import shape
import worker

SMALLEST, LARGEST = 256 * 256, 4096 * 4096  # pixels, as the published models say


def main() -> None:
    data = Path(sys.argv[1]).read_bytes()
    torch.set_num_threads(int(sys.argv[2]))
    processor = Qwen2VLImageProcessor(
        patch_size=shape.TOWER["patch_size"], merge_size=shape.TOWER["spatial_merge_size"],
        temporal_patch_size=shape.TOWER["temporal_patch_size"], image_mean=[0.5] * 3, image_std=[0.5] * 3,
        size={"shortest_edge": SMALLEST, "longest_edge": LARGEST})
    counted = []

    def run() -> None:
        picture = PIL.Image.open(io.BytesIO(data)).convert("RGB")
        made = processor(images=picture, return_tensors="pt")
        counted[:] = [len(made["pixel_values"])]

    def measure(request: worker.Request) -> dict[str, float]:
        run()
        return {"seconds": worker.median_seconds(request["runs"], run), "patches": counted[0]}

    worker.serve({"version": f"Pillow {PIL.__version__}, torch {torch.__version__}, "
                             f"transformers {transformers.__version__}"}, measure)


if __name__ == "__main__":
    main()
