#!/usr/bin/env python3
"""Draws examples/receipt.jpg, the picture of the README: a till receipt, a little crooked, as a camera sees it.

    tools/draw_receipt.py [FILE]

Needs pillow.
"""

from __future__ import annotations

import sys
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

OUTPUT = Path(__file__).resolve().parent.parent / "examples" / "receipt.jpg"
ROWS = [("2 x espresso", "4.40"), ("1 x lentil soup", "6.90"), ("1 x bread", "1.20"), ("1 x apple pie", "3.80"), ("1 x water 0.5 l", "2.10")]
WIDTH, HEIGHT, MARGIN = 320, 440, 24


def draw() -> Image.Image:
    paper = Image.new("L", (WIDTH, HEIGHT), 244)
    pen = ImageDraw.Draw(paper)
    small, large = ImageFont.load_default(16), ImageFont.load_default(24)

    def row(y: int, left: str, right: str, font: ImageFont.FreeTypeFont) -> None:
        pen.text((MARGIN, y), left, 30, font)
        pen.text((WIDTH - MARGIN, y), right, 30, font, anchor="ra")

    pen.text((WIDTH // 2, 20), "CORNER CAFE", 20, large, anchor="ma")
    pen.text((WIDTH // 2, 54), "12 Mill Lane", 60, small, anchor="ma")
    row(88, "2026-11-28", "12:47", small)
    pen.line((MARGIN, 116, WIDTH - MARGIN, 116), 90)
    for number, (name, price) in enumerate(ROWS):
        row(130 + 28 * number, name, price, small)
    pen.line((MARGIN, 278, WIDTH - MARGIN, 278), 90)
    row(290, "TOTAL", f"{sum(float(price) for _, price in ROWS):.2f}", large)
    row(330, "VAT 7 %", "1.20", small)
    row(356, "Card", "18.40", small)
    pen.text((WIDTH // 2, 400), "Thank you!", 60, small, anchor="ma")
    table = Image.new("L", (384, 512), 120)
    table.paste(paper.rotate(2, Image.Resampling.BICUBIC, expand=True, fillcolor=120), (22, 26))
    return table


def main() -> None:
    output = Path(sys.argv[1]) if len(sys.argv) > 1 else OUTPUT
    draw().save(output, "JPEG", quality=70, optimize=True)
    print(f"{output}: {output.stat().st_size} bytes")


if __name__ == "__main__":
    main()
