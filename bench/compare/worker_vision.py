#!/usr/bin/env python3
"""Worker: the vision tower of Clef-Flash in PyTorch, as transformers writes it: 27 blocks, 1,152 wide.

    worker_vision.py bfloat16|float32 THREADS

Request {"work": "vision", "tokens": patches, "runs": n}: one square picture of that many patches, which must be
the square of an even number. Answer {"seconds": median}.
"""

from __future__ import annotations

import math
import sys

import torch
import transformers
from transformers.models.qwen3_5.configuration_qwen3_5 import Qwen3_5VisionConfig
from transformers.models.qwen3_5.modeling_qwen3_5 import Qwen3_5VisionModel

import random_torch
import shape
import worker


def main() -> None:
    tower = random_torch.make(Qwen3_5VisionModel, Qwen3_5VisionConfig(**shape.TOWER), sys.argv[1], int(sys.argv[2]))
    values = shape.TOWER["in_channels"] * shape.TOWER["temporal_patch_size"] * shape.TOWER["patch_size"] ** 2

    def run(side: int) -> None:
        tower(torch.rand(side * side, values) * 2 - 1, grid_thw=torch.tensor([[1, side, side]]))

    def measure(request: worker.Request) -> dict[str, float]:
        side = math.isqrt(request["tokens"])
        if side * side != request["tokens"] or side % 2:
            raise SystemExit(f"{request['tokens']} patches are not the square of an even number")
        with torch.inference_mode():
            run(min(side, 8))
            return {"seconds": worker.median_seconds(request["runs"], lambda: run(side))}

    worker.serve({"version": f"torch {torch.__version__}, transformers {transformers.__version__}"}, measure)


if __name__ == "__main__":
    main()
