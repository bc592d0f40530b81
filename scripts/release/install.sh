#!/bin/sh
# Installs chatctl for the current user, or updates it. Needs no root.
set -eu

version=@VERSION@
downloads=${CHATCTL_DOWNLOADS:-@DOWNLOADS@}
# The glibc of scripts/release/system-requirements.ts, and the macOS of Node 24.
glibc=2.28
macos=13.5

# The public keys of the project (scripts/release/allowed_signers).
signers() {
  cat <<'END'
@SIGNERS@
END
}

usage() {
  cat <<'END'
Install chatctl, or update it.

USAGE
  sh install.sh [--version VERSION] [--dir DIRECTORY]

FLAGS
  --version VERSION  Version to install (default: the version of this script)
  --dir DIRECTORY    Directory of the program (default: ~/.local/bin)

ENVIRONMENT
  CHATCTL_DOWNLOADS  Base URL of a mirror: it contains a directory such as v0.1.0 for each version
END
}

fail() {
  printf 'Error: %s\n' "$1" >&2
  [ $# -lt 2 ] || printf 'Hint:  %s\n' "$2" >&2
  exit "${3:-1}"
}

use_npm='Install the npm package, which needs Node.js: npm install --global chatctl'

has() { command -v "$1" >/dev/null 2>&1; }

# Succeeds if version $1 is lower than version $2. Compares the first two numbers.
is_older() {
  case "$1$2" in
    *[!0-9.]*) return 1 ;;
    *) ;;
  esac
  major=${1%%.*} minor=${1#*.} wanted=${2#*.}
  minor=${minor%%.*} wanted=${wanted%%.*}
  [ "$major" -lt "${2%%.*}" ] || { [ "$major" -eq "${2%%.*}" ] && [ "$minor" -lt "$wanted" ]; }
}

check_linux() {
  if [ "$(getconf LONG_BIT 2>/dev/null || echo 64)" = 32 ]; then
    fail "chatctl needs a 64-bit system. The programs of this system are 32-bit." "$use_npm"
  fi
  # glibc prints "glibc 2.36"; musl has no such variable.
  found=$(getconf GNU_LIBC_VERSION 2>/dev/null || true)
  found=${found#glibc }
  if [ -z "$found" ]; then
    if (ldd --version 2>&1 || true) | grep -qi musl; then
      fail "chatctl needs glibc $glibc or newer. This system uses musl." "$use_npm"
    fi
    found=$( (ldd --version 2>/dev/null || true) | sed -n '1s/.* //p')
  fi
  if is_older "${found:-unknown}" "$glibc"; then
    fail "chatctl needs glibc $glibc or newer. This system has glibc $found." "$use_npm"
  fi
}

check_macos() {
  found=$(sw_vers -productVersion 2>/dev/null || echo unknown)
  if is_older "$found" "$macos"; then
    fail "chatctl needs macOS $macos or newer. This is macOS $found." "$use_npm"
  fi
}

find_target() {
  case $(uname -m) in
    x86_64 | amd64) arch=x64 ;;
    aarch64 | arm64) arch=arm64 ;;
    *) fail "chatctl needs an x86-64 or arm64 processor. This one is $(uname -m)." "$use_npm" ;;
  esac
  case $(uname -s) in
    Linux)
      check_linux
      target=linux-$arch
      ;;
    Darwin)
      check_macos
      # Under Rosetta, uname names the processor that is emulated.
      if [ "$(sysctl -n sysctl.proc_translated 2>/dev/null || true)" = 1 ]; then arch=arm64; fi
      target=darwin-$arch
      ;;
    MINGW* | MSYS* | CYGWIN*)
      fail "This script does not install chatctl on Windows." "Use Scoop, winget, or npm."
      ;;
    *) fail "No chatctl program exists for $(uname -s)." "$use_npm" ;;
  esac
}

# Plain HTTP only to this machine.
check_downloads() {
  downloads=${downloads%/}
  case $downloads in
    *[[:space:]@]*) fail "The base URL \"$downloads\" contains a space or an @." "Correct CHATCTL_DOWNLOADS." 2 ;;
    https://*) protocol='=https' ;;
    http://127.0.0.1:*) protocol='=http' ;;
    *) fail "\"$downloads\" is not an https URL." "Set CHATCTL_DOWNLOADS to the base URL of a mirror." 2 ;;
  esac
}

find_downloader() {
  if has curl; then
    downloader=curl
  # Other programs of this name may not verify certificates. GNU Wget2 shows no redirects.
  elif has wget && wget --version 2>/dev/null | grep -q 'GNU Wget '; then
    downloader=wget
  else
    fail "Neither curl nor GNU Wget is installed." "Install curl, and run this script again."
  fi
}

find_hasher() {
  if has sha256sum; then
    hasher=sha256sum
  elif has shasum; then
    hasher='shasum -a 256'
  elif has openssl; then
    hasher='openssl dgst -sha256 -r'
  else
    fail "The download cannot be verified: no program computes SHA-256 checksums." \
      "Install sha256sum, shasum, or openssl."
  fi
}

# Downloads $1 to the file $2. curl shows its progress with the option $3, which is --silent or --progress-bar.
download() {
  status=0
  case $downloader in
    curl)
      curl --fail --location --show-error "$3" --proto "$protocol" --proto-redir "$protocol" \
        --retry 2 --connect-timeout 30 --speed-limit 1 --speed-time 30 --output "$2" "$1" || status=$?
      ;;
    wget)
      wget --no-verbose --server-response --tries=3 --timeout=30 --output-document="$2" "$1" \
        2>"$tmp/wget.log" || status=$?
      # Without the headers, which are indented.
      grep -v '^  ' "$tmp/wget.log" >&2 || true
      # wget applies --https-only to the links in pages, and not to redirects. It shows a tab as \t, and follows it.
      if [ "$protocol" = '=https' ] &&
        grep -i '^ *location:' "$tmp/wget.log" | grep -qivE '^ *location: *(https:|/)'; then
        fail "The server redirects $1 to an address without https. Nothing was installed."
      fi
      ;;
  esac
  case $downloader-$status in
    *-0) return ;;
    curl-22 | wget-8)
      fail "The server does not send $1" "If the status above is 404, check the version."
      ;;
    curl-23 | wget-3) fail "Cannot write to $dir." "Check the free space with: df -h '$dir'" ;;
    *) fail "Cannot download $1 (status $status of $downloader)." "Check the connection and the proxy variables, and run this script again." ;;
  esac
}

warn_unsigned() {
  printf 'Warning: The signature is not verified: %s\n' "$1" >&2
  printf 'The checksum detects damage, but not tampering.\n' >&2
}

# Verifies that a key of the project has signed SHASUMS256.txt.
verify_signature() {
  if ! signers | grep '^chatctl-release ' >"$tmp/signers"; then
    warn_unsigned 'This script contains no public key.'
    return
  fi
  # Without arguments, ssh-keygen reports a missing one, and before OpenSSH 8.1 the unknown option.
  probe='option -- Y'
  if has ssh-keygen; then probe=$(ssh-keygen -Y verify 2>&1 </dev/null | tr -d '\r'); fi
  case $probe in
    *'option -- Y'*)
      warn_unsigned 'OpenSSH 8.1 or newer is not installed.'
      return
      ;;
    # Containers often run with a user ID that has no name. OpenSSH then does nothing.
    *'No user exists'*)
      warn_unsigned "ssh-keygen fails: $probe"
      return
      ;;
    *) ;;
  esac
  download "$downloads/v$version/SHASUMS256.txt.sig" "$tmp/SHASUMS256.txt.sig" --silent
  if ! ssh-keygen -Y verify -f "$tmp/signers" -I chatctl-release -n chatctl-release \
    -s "$tmp/SHASUMS256.txt.sig" <"$tmp/SHASUMS256.txt" >"$tmp/ssh-keygen.log" 2>&1; then
    cat "$tmp/ssh-keygen.log" >&2
    fail "The signature of SHASUMS256.txt of version $version is not valid. Nothing was installed." \
      "Do not use the files of this version, and report this to the project."
  fi
}

verify() {
  # The file is from another system if there is a carriage return.
  wanted=$(tr -d '\r' <"$tmp/SHASUMS256.txt" | awk -v name="$archive" '$2 == name { print $1 }')
  case $wanted in
    '') fail "SHASUMS256.txt of version $version does not list $archive. Nothing was installed." "$use_npm" ;;
    *[!0-9a-f]*) fail "SHASUMS256.txt of version $version is not valid. Nothing was installed." ;;
    *) ;;
  esac
  # $hasher consists of words.
  # shellcheck disable=SC2086
  actual=$($hasher <"$tmp/$archive") || fail "Cannot compute the checksum of $archive. Nothing was installed."
  actual=${actual%%[[:space:]]*}
  if [ "$actual" != "$wanted" ]; then
    fail "The checksum of $archive is wrong: the download is truncated or was altered. Nothing was installed." \
      "Run this script again. If it fails again, do not use the file."
  fi
}

# Runs the new program before it replaces another one.
try_program() {
  program=$1
  status=0
  printed=$("$program" --version 2>&1) || status=$?
  if [ "$status" = 0 ] && [ "$printed" = "chatctl $version" ]; then return; fi
  if [ "$status" = 126 ]; then
    fail "Programs in $dir cannot run: $printed" \
      "If the file system is mounted with noexec, choose another directory with --dir."
  fi
  fail "The new program does not run on this system, so nothing was installed: $printed" "$use_npm"
}

say_path() {
  case ":$PATH:" in
    *":$dir:"*)
      first=$(command -v chatctl || true)
      if [ "$first" != "$dir/chatctl" ]; then
        printf 'Another chatctl comes first on the PATH: %s\n' "$first"
      fi
      ;;
    *)
      case ${SHELL:-} in
        */zsh) file=.zshrc ;;
        *) file='.profile, or to the file of your shell' ;;
      esac
      printf '%s is not on the PATH. Add this line to ~/%s:\n' "$dir" "$file"
      # shellcheck disable=SC2016
      printf '  export PATH="%s:$PATH"\n' "$dir"
      ;;
  esac
}

# Removes the temporary files, and the directories that were created, unless they contain the program.
# shellcheck disable=SC2317
clean() {
  [ -z "$tmp" ] || rm -rf "$tmp"
  [ "$existing" = "$dir" ] || (cd "$existing/" && rmdir -p "${dir#"$existing"/}" 2>/dev/null) || true
}

main() {
  dir=
  while [ $# -gt 0 ]; do
    case $1 in
      -h | --help)
        usage
        return
        ;;
      --version=* | --dir=*)
        option=$1
        shift
        set -- "${option%%=*}" "${option#*=}" "$@"
        ;;
      --version | --dir)
        [ -n "${2:-}" ] || fail "$1 needs a value." "sh install.sh --help" 2
        if [ "$1" = --dir ]; then dir=$2; else version=${2#v}; fi
        shift 2
        ;;
      *) fail "Unknown argument: $1" "sh install.sh --help" 2 ;;
    esac
  done
  case $version in
    *[!0-9A-Za-z.+-]*) fail "\"$version\" is not a version." "Example: --version 0.1.0" 2 ;;
    *) ;;
  esac
  if [ -z "$dir" ]; then
    [ -n "${HOME:-}" ] || fail "HOME is not set." "Pass --dir." 2
    dir=$HOME/.local/bin
  fi
  case $dir in
    /*) ;;
    *) dir=$PWD/$dir ;;
  esac
  [ "$dir" = / ] || dir=${dir%/}

  find_target
  check_downloads
  find_downloader
  find_hasher
  for program in tar gzip awk; do
    has "$program" || fail "$program is not installed." "Install $program, and run this script again."
  done

  if [ -L "$dir/chatctl" ] || [ -d "$dir/chatctl" ]; then
    fail "$dir/chatctl is not a file that this script installed." "Remove it, or pass another --dir."
  fi
  before=$("$dir/chatctl" --version 2>/dev/null || true)
  if [ "$before" = "chatctl $version" ]; then
    printf 'chatctl %s is already installed in %s.\n' "$version" "$dir"
    say_path
    return
  fi

  umask 022
  tmp=
  existing=$dir
  while [ ! -d "$existing/" ]; do existing=${existing%/*}; done
  trap clean EXIT
  mkdir -p "$dir" 2>/dev/null || fail "Cannot create the directory $dir." "Pass another directory with --dir."
  trap 'exit 129' HUP
  trap 'exit 130' INT
  trap 'exit 141' PIPE
  trap 'exit 143' TERM
  # In the same directory, so that the program is replaced in one step.
  tmp=$(mktemp -d "$dir/.chatctl.XXXXXX" 2>/dev/null) ||
    fail "Cannot write to the directory $dir." "Pass another directory with --dir."

  name=chatctl-$version-$target
  archive=$name.tar.gz
  printf 'Downloading chatctl %s for %s\n' "$version" "$target"
  download "$downloads/v$version/SHASUMS256.txt" "$tmp/SHASUMS256.txt" --silent
  verify_signature
  if [ -t 2 ]; then progress=--progress-bar; else progress=--silent; fi
  download "$downloads/v$version/$archive" "$tmp/$archive" "$progress"
  verify
  (cd "$tmp" && tar -xzf "$archive" "$name/chatctl") ||
    fail "Cannot unpack $archive in $dir. Nothing was installed." "Check the free space with: df -h '$dir'"
  try_program "$tmp/$name/chatctl"
  mv -f "$tmp/$name/chatctl" "$dir/chatctl" || fail "Cannot replace $dir/chatctl. The old one is still there."
  if [ -z "$before" ]; then
    printf 'Installed chatctl %s in %s.\n' "$version" "$dir"
  else
    printf 'Updated %s to %s in %s.\n' "$before" "$version" "$dir"
  fi
  say_path
}

# A shell that reads a truncated download finds no closing brace here, and runs nothing.
{
  main "$@"
  exit
}
