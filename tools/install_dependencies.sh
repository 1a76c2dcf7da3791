#!/bin/sh
# Installs what is missing of the named groups with apt: build, video, remote, test, pip, clang, format (default: build).
#
#     tools/install_dependencies.sh [GROUP...]
#
# Looks first and touches nothing that is there. Not root: uses sudo. No apt: says what to install.
set -eu

missing=""
need() { # need PACKAGE... when the last check failed
    [ "$found" = yes ] || missing="$missing $*"
}
has_command() {
    if command -v "$1" >/dev/null 2>&1; then found=yes; else found=no; fi
}

has_module() { # has_module MODULE...: known to pkg-config
    if pkg-config --exists "$@" 2>/dev/null; then found=yes; else found=no; fi
}

# A compiler that finds the C library.
find_compiler() {
    found=no
    for compiler in ${CC:-} cc gcc; do
        if printf '#include <stdio.h>\n' | "$compiler" -E - >/dev/null 2>&1; then
            found=yes
            return
        fi
    done
}

for group in "${@:-build}"; do
    case "$group" in
    build)
        find_compiler && need gcc libc6-dev
        has_command make && need make
        has_command cmake && need cmake
        has_command pkg-config && need pkg-config
        has_module cmocka && need libcmocka-dev
        has_module libsodium && need libsodium-dev
        has_module libjpeg && need libjpeg-dev
        has_module libpng && need libpng-dev
        has_module libwebp libwebpdemux && need libwebp-dev
        ;;
    video)
        has_module libavformat libavcodec libavutil libswscale &&
            need libavformat-dev libavcodec-dev libavutil-dev libswscale-dev
        ;;
    remote)
        has_module libcurl && need libcurl4-openssl-dev
        ;;
    test)
        has_command python3 && need python3
        has_command c++ && need g++
        ;;
    pip)
        if python3 -m pip --version >/dev/null 2>&1; then found=yes; else found=no; fi
        need python3-pip ca-certificates
        ;;
    clang)
        has_command clang && need clang
        ;;
    format)
        has_command clang-format && need clang-format
        has_command clang-tidy && need clang-tidy
        ;;
    *)
        echo "install_dependencies.sh: no group \"$group\"; there are build, video, remote, test, pip, clang, format" >&2
        exit 2
        ;;
    esac
done

if [ -z "$missing" ]; then
    echo "Nothing to install."
    exit 0
fi
missing=${missing# }
if ! command -v apt-get >/dev/null 2>&1; then
    echo "Please install, by their Debian names: $missing" >&2
    exit 1
fi
as_root="env"
if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo >/dev/null 2>&1; then
        echo "Not root and no sudo. Please run as root: apt-get install $missing" >&2
        exit 1
    fi
    as_root="sudo env"
fi
echo "Installing with apt: $missing"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
# shellcheck disable=SC2086 # both are lists of words
if ! { $as_root apt-get -q update &&
    $as_root DEBIAN_FRONTEND=noninteractive apt-get -q install -y --no-install-recommends $missing; } >"$log" 2>&1; then
    tail -n 20 "$log" >&2
    echo "apt could not install: $missing" >&2
    exit 1
fi
echo "Installed: $missing"
