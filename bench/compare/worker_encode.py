#!/usr/bin/env python3
"""Worker: text to ids with tiktoken or with Hugging Face's tokenizers, on one thread, from the published vocabulary.

    worker_encode.py tiktoken|tokenizers TOKENIZER.json RANKS.tiktoken TEXT

The file TEXT holds texts that NUL bytes separate. Request {"work": "encode", "runs": n}: all of them, one by one.
Answer {"seconds": median processor time, "count": n, "ids": SHA-256 of all ids as 32-bit numbers}.
"""

from __future__ import annotations

import base64
import hashlib
import itertools
import json
import os
import sys
import time
from array import array
from pathlib import Path
from typing import Callable

os.environ["TOKENIZERS_PARALLELISM"] = "false"  # read when the library is first used
os.environ["RAYON_NUM_THREADS"] = "1"

import tiktoken
import tokenizers

import worker


Encode = Callable[[list[str]], list[list[int]]]


def open_tiktoken(tokenizer: Path, ranks: Path) -> Encode:
    steps = json.loads(tokenizer.read_text(encoding="utf-8"))["pre_tokenizer"]["pretokenizers"]
    pattern = next(step["pattern"]["Regex"] for step in steps if step["type"] == "Split")
    lines = (line.split() for line in ranks.read_bytes().splitlines() if line)
    encoding = tiktoken.Encoding("published", pat_str=pattern, special_tokens={},
                                 mergeable_ranks={base64.b64decode(text): int(rank) for text, rank in lines})
    return lambda texts: [encoding.encode_ordinary(text) for text in texts]


def open_tokenizers(tokenizer: Path) -> Encode:
    loaded = tokenizers.Tokenizer.from_file(str(tokenizer))
    # The call that keeps no offsets: the fastest the library has.
    return lambda texts: [made.ids for made in loaded.encode_batch_fast(texts, add_special_tokens=False)]


def main() -> None:
    name, tokenizer, ranks = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
    texts = Path(sys.argv[4]).read_text(encoding="utf-8").split("\0")
    encode = open_tiktoken(tokenizer, ranks) if name == "tiktoken" else open_tokenizers(tokenizer)

    def measure(request: worker.Request) -> dict[str, object]:
        ids = array("I", itertools.chain.from_iterable(encode(texts)))
        seconds = worker.median_seconds(request["runs"], lambda: encode(texts), clock=time.process_time)
        return {"seconds": seconds, "count": len(ids), "ids": hashlib.sha256(ids.tobytes()).hexdigest()}

    library = tiktoken if name == "tiktoken" else tokenizers
    worker.serve({"version": f"{name} {library.__version__}"}, measure)


if __name__ == "__main__":
    main()
