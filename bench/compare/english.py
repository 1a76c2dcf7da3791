"""English text that every machine with Python has: the running paragraphs of the language's own documentation.

A paragraph counts as running text when it is two lines or more, none indented, and ends like a sentence; tables, code
and grammar fall out.
"""

from __future__ import annotations

import pydoc_data.topics

LONGEST = 4000


def is_running(paragraph: str) -> bool:
    lines = paragraph.split("\n")
    return len(lines) > 1 and lines[-1].endswith((".", "?", ":")) and not any(line[:1].isspace() for line in lines)


def texts() -> list[str]:
    """All of it, in texts of up to some four thousand characters that end where a paragraph ends."""
    topics = pydoc_data.topics.topics
    paragraphs = (paragraph for name in sorted(topics) for paragraph in topics[name].split("\n\n"))
    made = [""]
    for paragraph in dict.fromkeys(filter(is_running, paragraphs)):
        if len(made[-1]) + len(paragraph) > LONGEST:
            made.append("")
        made[-1] += ("\n\n" if made[-1] else "") + paragraph
    return made
