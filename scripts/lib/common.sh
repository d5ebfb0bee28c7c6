# Shared by the scripts beside: messages, Debian packages, build folders. Sourced, not run.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)

say() { printf '%s\n' "$*" >&2; }
die() {
  say "$(basename "$0"): $*"
  exit 1
}

# require_packages PACKAGE... [-- OPTIONAL...]: installs the missing packages, as root or through sudo; otherwise prints
# the command to type and stops. Optional packages are left out if the distribution does not offer them.
require_packages() {
  local package missing=() optional=false
  if command -v dpkg-query >/dev/null; then
    for package in "$@"; do
      if [ "$package" = -- ]; then
        optional=true
      elif ! is_installed "$package" && { ! $optional || is_offered "$package"; }; then
        missing+=("$package")
      fi
    done
    [ ${#missing[@]} -eq 0 ] || install_packages "${missing[@]}"
  fi
  require_commands
}

# A tool counts as installed however it was installed.
is_installed() {
  case $1 in
    meson | pkg-config | python3 | g++ | cmake) command -v "$1" >/dev/null && return ;;
    ninja-build) command -v ninja >/dev/null && return ;;
  esac
  [ "$(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

# is_offered PACKAGE: whether the distribution offers the package. A fresh machine has to update its lists first.
is_offered() {
  apt-cache show g++ >/dev/null 2>&1 || apt_get update >/dev/null 2>&1 || true
  apt-cache show "$1" >/dev/null 2>&1
}

# apt_get ARGUMENT...: as root or through sudo; 126 if neither is possible.
apt_get() {
  if [ "$(id -u)" -eq 0 ]; then
    DEBIAN_FRONTEND=noninteractive apt-get "$@"
  elif command -v sudo >/dev/null && { [ -t 0 ] || sudo -n true 2>/dev/null; }; then
    # Asks for a password only at a terminal.
    sudo env DEBIAN_FRONTEND=noninteractive apt-get "$@"
  else
    return 126
  fi
}

install_packages() {
  local status=0
  { apt_get update && apt_get install -y --no-install-recommends "$@"; } >&2 || status=$?
  [ $status -eq 0 ] && return
  if [ $status -eq 126 ]; then
    say "Missing Debian packages. Install them, then run this again:"
  else
    say "apt-get could not install what is missing. Try it by hand, then run this again:"
  fi
  say "  apt-get update && apt-get install -y --no-install-recommends $*"
  exit 1
}

require_commands() {
  local command version
  for command in meson ninja pkg-config python3 "${CXX:-g++}"; do
    command -v "$command" >/dev/null || die "$command not found; on Debian: apt-get install meson ninja-build pkg-config python3 g++"
  done
  version=$(meson --version)
  [ "$(printf '1.0.1\n%s\n' "$version" | sort -V | head -n 1)" = 1.0.1 ] ||
    die "meson $version is too old, 1.0.1 or newer is needed (pipx install meson)"
}

# configure DIR MESON_OPTION...: a build folder with exactly these options, with the compiler CXX. Meson's output is
# shown if it fails.
configure() {
  local dir=$1 log options
  shift
  options="${CXX:-} $*"
  mkdir -p "$dir"
  log=$dir/configure.log
  if [ -e "$dir/meson-private/coredata.dat" ] && [ "$(cat "$dir/options" 2>/dev/null)" = "$options" ]; then
    meson setup --reconfigure "$dir" "$root" "$@" >"$log" 2>&1 && return
    say "Configuring $dir anew"
  fi
  rm -rf "$dir/meson-private" "$dir/options"
  meson setup "$dir" "$root" "$@" >"$log" 2>&1 || {
    cat "$log" >&2
    die "could not configure $dir"
  }
  printf '%s' "$options" >"$dir/options"
}

# has_cuda DIR: whether this configured folder builds CUDA programs.
has_cuda() { grep -qE '^ *CUDA *: *[0-9]' "$1/configure.log"; }

# processors: how many compile jobs to run, at 2 GiB of memory each.
processors() {
  local cores memory
  cores=$(nproc)
  memory=$(awk '/MemAvailable/ { print int($2 / 2097152) }' /proc/meminfo 2>/dev/null || echo "$cores")
  [ "$memory" -ge 1 ] || memory=1
  echo $((cores < memory ? cores : memory))
}
