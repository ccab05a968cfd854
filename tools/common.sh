# Shared by the scripts in this folder; sourced, not run.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"

packages_build=(g++ cmake ninja-build pkg-config libsimdjson-dev liburing-dev libmimalloc-dev
  libcli11-dev libbenchmark-dev)
packages_test=(libgtest-dev clang-19 libclang-rt-19-dev clang-format-19 python3 curl)
# Not needed: one makes builds quicker, and tests with other clients say that they skip.
packages_wanted=(ccache)
packages_wanted_test=(nodejs wrk nghttp2-client nginx-light haproxy libhiredis-dev redis-server
  libcurl4-openssl-dev)

# The comment at the head of a script, for --help.
if [ -z "${own_help:-}" ] && { [ "${1:-}" = --help ] || [ "${1:-}" = -h ]; }; then
  sed -n '2,/^[^#]/{/^#/s/^# \{0,1\}//p}' "$0"
  exit 0
fi

say() { printf '== %s\n' "$*"; }
die() {
  printf 'error: %s\n' "$*" >&2
  exit 1
}

# Prints those of the packages named that are not installed.
packages_missing() {
  local package
  for package in "$@"; do
    [ "$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null)" = installed ] ||
      printf '%s ' "$package"
  done
}

# apt-get as root or through sudo.
apt() {
  if [ "$(id -u)" -eq 0 ]; then
    DEBIAN_FRONTEND=noninteractive apt-get "$@"
  else
    sudo env DEBIAN_FRONTEND=noninteractive apt-get "$@"
  fi
}

# Installs what is missing of the packages named; quick and silent when nothing is.
install_packages() {
  if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
    say "not a Debian system: this needs what Debian calls $*"
    return
  fi
  local missing wanted
  missing=$(packages_missing "$@")
  wanted=$(packages_missing "${packages_wanted[@]}")
  [ -n "$missing$wanted" ] || return 0
  if [ "$(id -u)" -ne 0 ] && ! command -v sudo >/dev/null; then
    [ -z "$missing" ] || die "missing packages: $missing- run as root: apt-get install $missing"
    return 0
  fi
  say "installing packages: $missing$wanted"
  # shellcheck disable=SC2086  # The lists are split into words on purpose.
  if ! { apt update -qq && apt install -y -qq --no-install-recommends $missing; }; then
    [ -z "$missing" ] || die "apt could not install: $missing- is the network or the mirror away?"
  fi
  # shellcheck disable=SC2086
  [ -z "$wanted" ] || apt install -y -qq --no-install-recommends $wanted ||
    say "going on without: $wanted"
}

# Configures and builds a preset; more arguments go to the build. One at a time in a build folder.
build_preset() {
  mkdir -p build
  (
    flock -n 9 || {
      say "$1: waiting for another build of it"
      flock 9
    }
    build_preset_alone "$@"
  ) 9>"build/$1.lock"
}

build_preset_alone() {
  local preset=$1
  shift
  if command -v ccache >/dev/null; then
    export CMAKE_C_COMPILER_LAUNCHER=ccache CMAKE_CXX_COMPILER_LAUNCHER=ccache
  fi
  say "$preset: configure"
  cmake --preset "$preset" --log-level=WARNING >/dev/null || die "$preset does not configure"
  say "$preset: build"
  cmake --build --preset "$preset" "$@" || die "$preset does not build"
}
