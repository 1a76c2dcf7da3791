"""Write two small video files whose frames are known by formula.

    python make_videos.py FOLDER

Needs PyAV and numpy. counted.mkv: 12 frames without loss (FFV1), the container does not say how many; counted.mp4: 20 frames
(MPEG-4 with B-frames, 10 a second) that ask to be shown turned a quarter clockwise.
"""

from __future__ import annotations

import struct
import sys
from fractions import Fraction
from pathlib import Path

import av
import numpy as np


def exact_frame(index: int) -> np.ndarray:
    """[32, 48, 3]: (x · 5 + i, y · 7 + i · 3, x · y + i · 11), each modulo 256."""
    y, x = np.mgrid[0:32, 0:48]
    return np.stack([x * 5 + index, y * 7 + index * 3, x * y + index * 11], -1).astype(np.uint8)


def flat_frame(index: int) -> np.ndarray:
    """[64, 96, 3]: grey of 12 · i, but for a white left third."""
    frame = np.full((64, 96, 3), 12 * index, np.uint8)
    frame[:, :32] = 255
    return frame


def write(path: Path, codec: str, pixel_format: str, rate: int, frames: list[np.ndarray], options: dict[str, str]) -> None:
    with av.open(str(path), "w") as container:
        stream = container.add_stream(codec, rate=Fraction(rate), options=options)
        stream.height, stream.width, stream.pix_fmt = frames[0].shape[0], frames[0].shape[1], pixel_format
        for frame in frames:
            for packet in stream.encode(av.VideoFrame.from_ndarray(frame, "rgb24")):
                container.mux(packet)
        for packet in stream.encode():
            container.mux(packet)


def turn(path: Path) -> None:
    """Puts a quarter turn clockwise into the matrix of the track header."""
    data = path.read_bytes()
    one, plain = 1 << 16, struct.pack(">9i", 1 << 16, 0, 0, 0, 1 << 16, 0, 0, 0, 1 << 30)
    at = data.index(plain, data.index(b"tkhd"))
    path.write_bytes(data[:at] + struct.pack(">9i", 0, one, 0, -one, 0, 0, 64 << 16, 0, 1 << 30) + data[at + 36:])


def main() -> None:
    folder = Path(sys.argv[1])
    write(folder / "counted.mkv", "ffv1", "bgr0", 24, [exact_frame(i) for i in range(12)], {})
    write(folder / "counted.mp4", "mpeg4", "yuv420p", 10, [flat_frame(i) for i in range(20)], {"bf": "2", "qscale": "2", "flags": "+qscale+bitexact"})
    turn(folder / "counted.mp4")


if __name__ == "__main__":
    main()
