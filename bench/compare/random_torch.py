"""Models of transformers with random weights, made in seconds: the library's own ways to draw them take minutes."""

from __future__ import annotations

from typing import Any

import torch
from transformers.initialization import no_init_weights


def make(kind: type[torch.nn.Module], configuration: Any, dtype: str, threads: int) -> torch.nn.Module:
    """Also sets the number of threads and the number type of what is made from now on."""
    torch.set_num_threads(threads)
    torch.set_default_dtype(getattr(torch, dtype))
    torch.manual_seed(0)
    with no_init_weights():
        model = kind(configuration).eval()
    with torch.no_grad():
        for weights in model.parameters():
            weights.uniform_(-0.03, 0.03)
    return model
