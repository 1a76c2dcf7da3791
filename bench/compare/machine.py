"""What a measurement stands on: the machine, how busy others keep it, the state of the source."""

from __future__ import annotations

import os
import re
import subprocess
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent


def processor() -> dict[str, str]:
    """The first processor of /proc/cpuinfo."""
    first = Path("/proc/cpuinfo").read_text(encoding="utf-8").split("\n\n")[0]
    return {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in first.splitlines())}


def cores() -> int:
    return len(os.sched_getaffinity(0))


def label() -> str:
    """For people: "Intel(R) Xeon(R) Processor, family 6 model 207"."""
    found = processor()
    name = found.get("model name", "unknown processor")
    return f"{name}, family {found['cpu family']} model {found['model']}" if "cpu family" in found else name


def slug() -> str:
    """For file names: "intel-xeon-6-207-2-cores"."""
    found = processor()
    name = re.sub(r"\((?:R|TM)\)|\b(?:CPU|Processor|\d+-Core)\b|@.*", " ", found.get("model name", "unknown"))
    words = [*name.split(), found.get("cpu family", ""), found.get("model", ""), str(cores()), "cores"]
    return re.sub(r"[^a-z0-9]+", "-", " ".join(words).lower()).strip("-")


def busy_share(seconds: float = 1.0) -> float:
    """The share of all processors that is in use while this process waits: by others, then."""
    def times() -> tuple[int, int]:
        fields = [int(field) for field in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]
        return sum(fields), fields[3] + fields[4]  # idle, and idle for input and output

    all_before, idle_before = times()
    time.sleep(seconds)
    all_after, idle_after = times()
    return 1 - (idle_after - idle_before) / max(1, all_after - all_before)


def commit() -> str:
    def git(*arguments: str) -> str:
        done = subprocess.run(["git", "-C", str(ROOT), *arguments], capture_output=True, text=True)
        return done.stdout.strip() if done.returncode == 0 else ""

    changed = git("status", "--porcelain", "--untracked-files=no", "--", "src", "include", "cmake", "CMakeLists.txt")
    return (git("rev-parse", "--short", "HEAD") or "unknown") + ("-changed" if changed else "")


if __name__ == "__main__":
    print(slug())
