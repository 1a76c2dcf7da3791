"""Write what Pillow's own bicubic resize makes of pictures given by a formula.

    python make_pillow_resize.py FILE

Pillow below 13: from there on it takes the height first when that shrinks much more than the width (12.3 does so for pictures a
hundred times as high as wide, of which there is none here).
"""

from __future__ import annotations

import hashlib
import json
import random
import sys

import numpy as np
import PIL
from PIL import Image


def picture(height: int, width: int) -> np.ndarray:
    y, x, c = np.mgrid[0:height, 0:width, 0:3]
    return ((x * 37 + y * 101 + c * 59 + x * y * (c + 3) // 2 + (x * x // 7) * (y * y // 11)) % 256).astype(np.uint8)


def main() -> None:
    assert int(PIL.__version__.split(".")[0]) < 13, PIL.__version__
    draw = random.Random(7)
    sizes = [(1, 1, 32, 32), (1, 9, 64, 32), (9, 1, 32, 64), (70, 50, 70, 96), (70, 50, 96, 50), (33, 65, 32, 64), (720, 64, 704, 64),
             (300, 200, 32, 32), (40, 50, 288, 320), (280, 3, 96, 32), (64, 64, 32, 96), (64, 64, 96, 32)]
    sizes += [tuple(draw.randint(1, 130) for _ in range(4)) for _ in range(28)]
    with open(sys.argv[1], "w", encoding="utf-8") as out:
        for old_height, old_width, height, width in sizes:
            resized = Image.fromarray(picture(old_height, old_width)).resize((width, height), Image.Resampling.BICUBIC)
            row = {"old": [old_height, old_width], "new": [height, width], "sha256": hashlib.sha256(resized.tobytes()).hexdigest()}
            out.write(json.dumps(row, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
