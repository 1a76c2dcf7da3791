#!/usr/bin/env python3
"""Checks who may include and call what.

    tools/check_layers.py [ROOT]

The arrows between layers are the clef_layer(NAME USED...) lines of CMakeLists.txt; a file's layer is
its folder in src/. The rules that CMake cannot know stand as data below. Prints one line a fault and
ends with status 1 when there is any.
"""

from __future__ import annotations

import fnmatch
import re
import sys
from pathlib import Path
from typing import Iterator

from c_source import ROOT, c_files, calls, code_of, includes, line_of, without_comments

# Headers of the system, and the files that may include them; everything else is unknown and refused.
ANYWHERE = "complex.h ctype.h errno.h float.h inttypes.h limits.h math.h stdalign.h stdarg.h stdbool.h stddef.h stdint.h " \
           "stdio.h stdlib.h string.h strings.h time.h"
SYSTEM_HEADERS: dict[str, tuple[str, ...]] = {
    **{name: ("*",) for name in ANYWHERE.split()},
    **{name: ("src/base/*", "src/cli/*", "tests/*") for name in
       "sched.h sys/mman.h sys/resource.h sys/types.h sys/wait.h".split()},
    **{name: ("src/base/*", "src/cli/*", "src/server/*", "tests/*") for name in "fcntl.h unistd.h".split()},
    **{name: ("src/server/*",) for name in "sys/epoll.h sys/eventfd.h sys/uio.h".split()},
    **{name: ("src/server/*", "src/cli/http_client.*") for name in "netdb.h netinet/tcp.h".split()},
    "netinet/in.h": ("src/media/fetch_curl.c", "src/server/*", "src/cli/http_client.*"),
    **{name: ("src/cli/*", "tests/*") for name in "locale.h getopt.h poll.h sys/ioctl.h".split()},
    "signal.h": ("src/base/thread.c", "src/cli/*", "tests/*"),
    "sys/file.h": ("src/base/folder.c",),
    **{name: ("tests/*",) for name in "arpa/inet.h cmocka.h malloc.h sys/un.h".split()},
    "setjmp.h": ("src/media/escape.c", "tests/*"),
    "pthread.h": ("src/base/thread.h", "src/base/memory_budget.c", "src/server/*", "src/cli/serve_signals.*",
                  "src/cli/bench_clients.c", "tests/*"),
    "sys/socket.h": ("src/media/fetch_curl.c", "src/server/*", "src/cli/http_client.c", "tests/*"),
    "stdatomic.h": ("src/base/*", "src/engine/*", "tests/*"),
    **{name: ("src/base/*", "src/weights/*", "src/cli/*", "tests/*") for name in "dirent.h sys/stat.h".split()},
    **{name: ("src/base/number_mode.h", "tests/*") for name in ("xmmintrin.h",)},
    "cpuid.h": ("src/backend/cpu/cpu_levels.c",),
    # Outside libraries, each with its adapter.
    "sodium.h": ("src/base/digest.c",),
    **{name: ("src/media/decode_jpeg.c",) for name in "jpeglib.h jerror.h".split()},
    "png.h": ("src/media/decode_png.c",),
    **{name: ("src/media/decode_webp.c",) for name in "webp/decode.h webp/demux.h".split()},
    **{name: ("src/media/video_library.h",) for name in
       "libavcodec/avcodec.h libavformat/avformat.h libavutil/display.h libswscale/swscale.h".split()},
    "curl/curl.h": ("src/media/fetch_curl.c",),
    "dlfcn.h": ("src/media/fetch_curl.c", "src/media/video_library.c", "tests/*"),
    "clef/status.h": ("src/base/*", "src/engine/*", "src/cli/*", "include/*", "tests/*", "examples/*"),
    "clef/clef.h": ("src/engine/*", "src/cli/*", "src/server/*", "tests/*", "examples/*", "include/*"),
    "clef/measure.h": ("src/engine/*", "src/cli/*", "tests/*"),
}
# Vector headers belong to the files that are built for a level of instructions.
VECTOR_LEVELS: dict[str, tuple[str, ...]] = {
    "immintrin.h": ("avx2", "avx512", "avx512vnni", "avx512bf16", "amx"),
    "arm_neon.h": ("neon", "neondot", "neonbf16"),
}

# Calls, and the only files of the product that may make them (none for an empty list).
CALLS: dict[str, tuple[str, ...]] = {
    **{name: ("src/base/memory.c",) for name in "malloc calloc realloc free aligned_alloc posix_memalign".split()},
    **{name: ("src/cli/environment.c",) for name in "getenv secure_getenv setenv putenv".split()},
    **{name: ("src/cli/*",) for name in "printf fprintf vprintf vfprintf puts fputs putchar putc fputc perror".split()},
    **{name: ("src/cli/*",) for name in "exit _exit _Exit quick_exit atexit signal sigaction setlocale".split()},
    **{name: ("src/base/file.c", "src/cli/*") for name in "mmap munmap".split()},
    **{name: ("src/base/*", "src/cli/*") for name in "fopen freopen".split()},
    **{name: () for name in "abort assert system popen strdup strndup asprintf vasprintf".split()},
}

PROGRAM = "cli"
PROGRAM_MAY_USE = {"cli", "server", "base"}


def allowed(path: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatch.fnmatchcase(path, pattern) for pattern in patterns)


def read_layers(build_file: str) -> dict[str, set[str]]:
    """Layer -> the layers it may include, itself among them."""
    text = re.sub(r"#[^\n]*", "", build_file)
    layers = {}
    for arguments in re.findall(r"^\s*clef_layer\(([^)]*)\)", text, re.MULTILINE):
        name, *used = arguments.split()
        layers[name] = {name, *used}
    return layers


def layer_of(path: str) -> str:
    """The folder of src/ (or of tests/unit/) that a file stands in; empty elsewhere."""
    parts = path.split("/")
    if parts[0] == "src" and len(parts) > 2:
        return parts[1]
    if parts[:2] == ["tests", "unit"] and len(parts) > 3:
        return parts[2]
    return ""


def level_of(path: str) -> str:
    return Path(path).stem.rpartition("_")[2]


def check_system_include(path: str, line: int, header: str) -> Iterator[str]:
    if header in VECTOR_LEVELS:
        if level_of(path) not in VECTOR_LEVELS[header]:
            yield f"{path}:{line}: <{header}> belongs to files named *_{'|'.join(VECTOR_LEVELS[header])}.c"
    elif header not in SYSTEM_HEADERS:
        yield f"{path}:{line}: unknown include <{header}>; list it in tools/check_layers.py with the files that need it"
    elif not allowed(path, SYSTEM_HEADERS[header]):
        yield f"{path}:{line}: <{header}> may be included by {', '.join(SYSTEM_HEADERS[header])} only"


def check_own_include(root: Path, path: str, line: int, header: str, layers: dict[str, set[str]]) -> Iterator[str]:
    is_product = path.startswith("src/")
    if not is_product and ((root / path).parent / header).is_file():
        return
    if path.startswith("tests/") and (root / "tests/support" / header).is_file():
        return
    if not (root / "src" / header).is_file():
        yield f"{path}:{line}: unknown include \"{header}\"; paths start at src/"
        return
    if path.startswith(("include/", "examples/", "tests/api/")):
        yield f"{path}:{line}: \"{header}\" is internal; include <clef/clef.h>"
        return
    layer, target = layer_of(path), header.split("/")[0]
    if layer == "" or layer not in layers and layer != PROGRAM:
        return  # suites other than unit/ may look anywhere; an unknown layer is reported once a file
    may_use = PROGRAM_MAY_USE if layer == PROGRAM else layers[layer]
    if target not in may_use:
        yield f"{path}:{line}: layer {layer} may not include {target} (\"{header}\"); it may use {' '.join(sorted(may_use))}"


def check_file(root: Path, path: str, layers: dict[str, set[str]]) -> Iterator[str]:
    text = (root / path).read_text(encoding="utf-8")
    code = code_of(text)
    is_product = path.startswith(("src/", "include/"))
    layer = layer_of(path)
    if is_product and path.startswith("src/") and layer not in layers and layer != PROGRAM:
        yield f"{path}:1: folder {layer or 'src'} is no layer; declare it with clef_layer in CMakeLists.txt"
    for line, header, is_system in includes(text):
        if is_system:
            yield from check_system_include(path, line, header)
        else:
            yield from check_own_include(root, path, line, header, layers)
    if not is_product:
        return
    for line, name in calls(code):
        if name in CALLS and not allowed(path, CALLS[name]):
            where = f"only {', '.join(CALLS[name])} may" if CALLS[name] else "nothing may"
            yield f"{path}:{line}: {name}() is called; {where}"


def check_arrows(layers: dict[str, set[str]]) -> Iterator[str]:
    """Lowest first: a layer may use only layers declared before it, so there is no circle."""
    seen: set[str] = set()
    for name, used in layers.items():
        for other in sorted(used - seen - {name}):
            yield f"CMakeLists.txt: layer {name} uses {other}, which is not declared before it"
        seen.add(name)


def check_tree(root: Path) -> list[str]:
    layers = read_layers((root / "CMakeLists.txt").read_text(encoding="utf-8"))
    faults = list(check_arrows(layers))
    if not layers:
        faults.append("CMakeLists.txt: no clef_layer(...) line found")
    for path in c_files(root, "src", "include", "tests", "examples"):
        faults += check_file(root, path.relative_to(root).as_posix(), layers)
    return faults


def main() -> int:
    root = Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else ROOT
    faults = check_tree(root)
    print("\n".join(faults) if faults else "layers: every include and call follows the arrows")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
