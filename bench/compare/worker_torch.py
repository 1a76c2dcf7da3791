#!/usr/bin/env python3
"""Worker: the text shape in PyTorch, as transformers writes it, without the output matrix.

    worker_torch.py bfloat16|float32 THREADS

Request {"work": "prefill"|"generate", "sequences": n, "tokens": n, "runs": n}. prefill: all tokens of all
sequences from an empty state, nothing kept. generate: one more token for each sequence behind sixteen that a cache
keeps. Answer {"seconds": median}.
"""

from __future__ import annotations

import sys

import torch
import transformers
from transformers import DynamicCache
from transformers.models.qwen3_5.configuration_qwen3_5 import Qwen3_5TextConfig
from transformers.models.qwen3_5.modeling_qwen3_5 import Qwen3_5TextModel

import random_torch
import shape
import worker

PROMPT, WARM = 16, 64


def main() -> None:
    backbone = random_torch.make(Qwen3_5TextModel, Qwen3_5TextConfig(**shape.transformers_text()), sys.argv[1],
                                 int(sys.argv[2]))

    def draw(sequences: int, tokens: int) -> torch.Tensor:
        return torch.randint(0, shape.VOCABULARY, (sequences, tokens))

    def prefill(request: worker.Request) -> float:
        sequences, tokens = request["sequences"], request["tokens"]
        backbone(input_ids=draw(sequences, min(tokens, WARM)), use_cache=False)
        ids = draw(sequences, tokens)
        return worker.median_seconds(request["runs"], lambda: backbone(input_ids=ids, use_cache=False))

    def generate(request: worker.Request) -> float:
        sequences = request["sequences"]
        cache = DynamicCache(config=backbone.config)
        backbone(input_ids=draw(sequences, PROMPT), cache=cache, use_cache=True)
        ids = draw(sequences, 1)

        def step() -> None:
            backbone(input_ids=ids, cache=cache, use_cache=True)

        step()
        return worker.median_seconds(request["runs"], step)

    def measure(request: worker.Request) -> dict[str, float]:
        with torch.inference_mode():
            return {"seconds": (prefill if request["work"] == "prefill" else generate)(request)}

    worker.serve({"version": f"torch {torch.__version__}, transformers {transformers.__version__}",
                  "weight_bytes": shape.layer_weight_count() * backbone.dtype.itemsize}, measure)


if __name__ == "__main__":
    main()
