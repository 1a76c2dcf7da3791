#!/usr/bin/env python3
"""Draws the speeds of a table of compare.py: one bar an engine, for prefill of 512 tokens and for text to ids.

    plot.py TABLE.csv PICTURE.svg

No background and greys of middle lightness, so that it can be read on white and on black.
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt

from table import Row, Table, Work

INK = "#808891"
COLOURS = {"clef": "#2f81f7"}
PEER = "#9aa1a9"
PREFERRED_TOKENS = 512


def choose(table: Table) -> list[tuple[str, list[Row]]]:
    """Title and rows of each panel, fastest first."""
    def rows(work: Work) -> list[Row]:
        found = [row for row in table.rows if (row["work"], int(row["sequences"]), int(row["tokens"])) == work]
        return sorted(found, key=lambda row: -float(row["median"]))

    panels = []
    if prefill := table.works("prefill"):
        work = min(prefill, key=lambda work: (work[1] != 1, abs(work[2] - PREFERRED_TOKENS)))
        panels.append((f"Prefill of {work[2]} tokens, Qwen3.5-0.8B shape: tokens a second", rows(work)))
    if encode := table.works("encode"):
        panels.append(("English text to ids, one thread: MB a second", rows(encode[0])))
    return panels


def draw_panel(axes: plt.Axes, title: str, rows: list[Row]) -> None:
    names = [f"{row['engine']} {row['numbers']}".strip() for row in rows]
    speeds = [float(row["median"]) for row in rows]
    spread = [[speed - float(row["least"]) for speed, row in zip(speeds, rows)],
              [float(row["most"]) - speed for speed, row in zip(speeds, rows)]]
    bars = axes.barh(names, speeds, height=0.7, color=[COLOURS.get(row["engine"], PEER) for row in rows])
    axes.errorbar(speeds, range(len(rows)), xerr=spread, fmt="none", ecolor=INK, elinewidth=1, capsize=2)
    ends = [float(row["most"]) for row in rows]
    for bar, end, speed in zip(bars, ends, speeds):
        axes.text(end + max(ends) * 0.012, bar.get_y() + bar.get_height() / 2, f"{speed:.3g}", va="center", color=INK)
    axes.set_title(title, loc="left", color=INK, fontsize=11)
    axes.set_xlim(0, max(ends) * 1.1)
    axes.invert_yaxis()
    axes.xaxis.set_visible(False)
    axes.tick_params(axis="y", colors=INK, length=0)
    for side in axes.spines.values():
        side.set_visible(False)


def main() -> int:
    if len(sys.argv) != 3:
        print("usage: plot.py TABLE.csv PICTURE.svg", file=sys.stderr)
        return 2
    table = Table.read(Path(sys.argv[1]))
    panels = choose(table)
    if not panels:
        print(f"{sys.argv[1]} has neither prefill nor encode", file=sys.stderr)
        return 1
    # Text stays text; no date and no random ids, so that the same table gives the same bytes.
    plt.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "clef", "font.family": "sans-serif", "font.size": 10})
    heights = [len(rows) + 1 for _, rows in panels]
    figure, axes = plt.subplots(len(panels), 1, figsize=(8, 0.32 * sum(heights) + 0.4), squeeze=False,
                                height_ratios=heights, layout="constrained")
    figure.get_layout_engine().set(w_pad=0.15, h_pad=0.08)  # fonts of the reader may be wider
    for place, (title, rows) in zip(axes[:, 0], panels):
        draw_panel(place, title, rows)
    first = panels[0][1][0]
    note = f"{first['machine']}, {first['threads']} threads, {first['run'][:10]}; medians, lines from least to most"
    figure.text(0.995, 0.003, note, ha="right", va="bottom", color=INK, fontsize=8)
    picture = Path(sys.argv[2])
    picture.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(picture, transparent=True, metadata={"Date": None})
    return 0


if __name__ == "__main__":
    sys.exit(main())
