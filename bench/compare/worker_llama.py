#!/usr/bin/env python3
"""Worker: the text shape in llama.cpp, through llama-cpp-python.

    worker_llama.py FILE.gguf THREADS

Requests and answers are those of worker_torch.py. No token asks for output, so that the output matrix is left out
here as it is everywhere else; all layers are computed for all tokens all the same.
"""

from __future__ import annotations

import sys
from pathlib import Path

import gguf
import llama_cpp

import shape
import worker

PROMPT, WARM = 16, 64
SEQUENCES, LONGEST = 8, 1280


def layer_bytes(path: Path) -> int:
    """What the layers' matrices take as stored."""
    return sum(int(tensor.n_bytes) for tensor in gguf.GGUFReader(path).tensors
               if tensor.name.startswith("blk.") and len(tensor.shape) == 2 and "conv1d" not in tensor.name)


@llama_cpp.llama_log_callback
def say_nothing(level: int, text: bytes, data: object) -> None:
    pass


class Context:
    """A model with room for some sequences, and a batch of tokens to append to them."""

    def __init__(self, path: Path, threads: int) -> None:
        llama_cpp.llama_log_set(say_nothing, None)
        llama_cpp.llama_backend_init()
        self.model = llama_cpp.llama_model_load_from_file(bytes(path), llama_cpp.llama_model_default_params())
        options = llama_cpp.llama_context_default_params()
        options.n_seq_max = SEQUENCES
        options.n_ctx = SEQUENCES * LONGEST
        options.n_batch = 4 * LONGEST
        options.n_threads = options.n_threads_batch = threads
        self.context = llama_cpp.llama_init_from_model(self.model, options)
        if not self.context:
            raise SystemExit(f"llama.cpp does not load {path}")
        self.batch = llama_cpp.llama_batch_init(options.n_batch, 0, 1)

    def clear(self) -> None:
        llama_cpp.llama_memory_clear(llama_cpp.llama_get_memory(self.context), True)

    def fill(self, sequences: int, first: int, tokens: int) -> None:
        """The next batch: as many tokens of each sequence, from position `first` on."""
        batch = self.batch
        batch.n_tokens = sequences * tokens
        for row in range(batch.n_tokens):
            sequence, position = divmod(row, tokens)
            batch.token[row] = 7919 * row % shape.VOCABULARY
            batch.pos[row] = first + position
            batch.n_seq_id[row] = 1
            batch.seq_id[row][0] = sequence
            batch.logits[row] = 0

    def decode(self) -> None:
        status = llama_cpp.llama_decode(self.context, self.batch)
        llama_cpp.llama_synchronize(self.context)
        if status != 0:
            raise SystemExit(f"llama.cpp cannot decode {self.batch.n_tokens} tokens: status {status}")


def main() -> None:
    path = Path(sys.argv[1])
    context = Context(path, int(sys.argv[2]))

    def begin(sequences: int, tokens: int) -> None:
        context.clear()
        context.fill(sequences, 0, tokens)

    def prefill(sequences: int, tokens: int, runs: int) -> float:
        begin(sequences, min(tokens, WARM))
        context.decode()
        return worker.median_seconds(runs, context.decode, prepare=lambda: begin(sequences, tokens))

    def generate(sequences: int, tokens: int, runs: int) -> float:
        begin(sequences, PROMPT)
        context.decode()
        positions = iter(range(PROMPT, LONGEST))
        context.fill(sequences, next(positions), tokens)
        context.decode()
        return worker.median_seconds(runs, context.decode,
                                     prepare=lambda: context.fill(sequences, next(positions), tokens))

    def measure(request: worker.Request) -> dict[str, float]:
        work = prefill if request["work"] == "prefill" else generate
        return {"seconds": work(request["sequences"], request["tokens"], request["runs"])}

    worker.serve({"version": f"llama-cpp-python {llama_cpp.__version__}", "weight_bytes": layer_bytes(path)}, measure)


if __name__ == "__main__":
    main()
