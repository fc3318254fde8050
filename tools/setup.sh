# Sourced by ./run and ./test: makes .venv ready and brings what is missing from the system.
# Needs $root, the absolute path of the checkout. Works in bash 3.2, which macOS has.
# shellcheck shell=bash disable=SC2154

# .venv is a world of its own: other packages on these paths would pass for installed ones.
unset PYTHONPATH PYTHONHOME

venv=$root/.venv
unfinished=$venv/.gpt2gl-unfinished

say() { printf 'gpt2gl: %s\n' "$*" >&2; }
die() { say "$*"; exit 1; }

# prepare KIND: KIND is `run` or `test`. Costs no process when everything is in place.
prepare() {
  read_inputs "$1"
  is_ready "$1" && return
  [ -w "$root" ] || die "cannot write in $root: make it yours, or copy the folder to a place of yours"
  with_lock build "$1" </dev/null
}

# What the environment is built from. A stamp holds the text itself, so that comparing needs no
# hash tool, and the path, because scripts in .venv/bin name it.
read_inputs() {
  inputs="$root $(<"$root/pyproject.toml") $(<"$root/setup.py")"
  if [ "$1" = test ]; then inputs="$inputs $(<"$root/tests/constraints.txt")"; fi
}

# A Python that was removed or replaced by a newer one leaves .venv/bin/python dangling, for which
# -x is false: .venv is made from the resolved path.
is_ready() {
  local stamp=$venv/.gpt2gl-$1
  [ -x "$venv/bin/python" ] && [ -x "$venv/bin/gpt2gl" ] && [ ! -e "$unfinished" ] &&
    [ -r "$stamp" ] && [ "$(<"$stamp")" = "$inputs" ]
}

# One set-up at a time. The lock file is outside .venv, which may be deleted under the lock. pip
# inherits the lock: should this script be killed, the next one waits until pip has ended.
with_lock() {
  if command -v flock >/dev/null 2>&1; then
    (
      flock -n 9 || { say "waiting for another set-up to end"; flock 9; }
      "$@"
    ) 9>"$root/.venv.lock"
  else
    (
      lock_folder "$root/.venv.lock.d"
      trap 'rm -rf "$root/.venv.lock.d"' EXIT
      trap 'exit 130' INT
      trap 'exit 143' TERM
      "$@"
    )
  fi
}

# Without flock: mkdir is atomic. A lock whose owner is dead is taken over, by one heir only,
# because only one rename of the same folder succeeds.
lock_folder() {
  local owner told=
  until mkdir "$1" 2>/dev/null; do
    if [ -z "$told" ]; then say "waiting for another set-up to end"; fi
    told=yes
    owner=$(cat "$1/pid" 2>/dev/null || true)
    if [ -n "$owner" ] && ! kill -0 "$owner" 2>/dev/null; then
      mv "$1" "$1.stale.$$" 2>/dev/null && rm -rf "$1.stale.$$"
    else
      sleep 1
    fi
  done
  echo $$ >"$1/pid"
}

build() {
  local python
  is_ready "$1" && return
  trap 'say "set-up interrupted; the next call repairs it"; exit 130' INT
  log=$(mktemp "${TMPDIR:-/tmp}/gpt2gl-setup.XXXXXX")
  system_packages "$1"
  python=$(find_python) || die "no Python 3.10 or newer: $(install_hint python3 python3-venv)"
  make_venv "$python"
  install_package "$1"
  rm -f "$log"
}

# Runs a command with its output in the log; fails as the command does.
quietly() { "$@" >>"$log" 2>&1; }

die_with_log() {
  tail -n 15 "$log" >&2
  die "$1; everything it printed is in $log"
}

# --- System packages -----------------------------------------------------------------------------

RUN_PACKAGES="libegl1 libegl-mesa0 libgl1 libgles2 libgl1-mesa-dri"
TEST_PACKAGES="xvfb xdotool xclip openbox glslang-tools"

system_packages() {
  local wanted=$RUN_PACKAGES missing
  if [ "$1" = test ]; then wanted="$wanted $TEST_PACKAGES"; fi
  if command -v dpkg-query >/dev/null 2>&1; then
    missing=$(missing_packages "$wanted $(python_packages)")
    if [ -n "$missing" ]; then apt_install "$missing"; fi
  elif [ "$(uname -s)" = Linux ] && ! has_gl_loader; then
    say "no OpenGL loader found: $(install_hint)"
  fi
}

missing_packages() {
  local package
  for package in $1; do
    dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || echo "$package"
  done | tr '\n' ' '
}

# Debian ships Python without ensurepip, which python3.X-venv brings.
python_packages() {
  local python
  python=$(find_python) || { echo python3 python3-venv; return; }
  "$python" -c 'import ensurepip' 2>/dev/null && return
  case $python in
    /usr/bin/python3.*) echo "${python#/usr/bin/}-venv" ;;
  esac
}

apt_install() {
  local packages=${1% }
  if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null 2>&1; then
    say "missing from the system: $packages"
    say "to add them, type: sudo apt-get install -y --no-install-recommends $packages"
    return
  fi
  say "installing from the system: $packages"
  export DEBIAN_FRONTEND=noninteractive
  quietly apt-get -o DPkg::Lock::Timeout=300 update 9>&- || true
  # shellcheck disable=SC2086 # one word a package
  quietly apt-get -o DPkg::Lock::Timeout=300 install -y --no-install-recommends $packages 9>&- || {
    tail -n 5 "$log" >&2
    say "could not install them; to try again, type: apt-get install -y $packages"
  }
}

has_gl_loader() { ldconfig -p 2>/dev/null | grep -q 'libEGL\.so\.1'; }

# install_hint [DEBIAN PACKAGES]: how to install Python, or without arguments the GL driver.
install_hint() {
  local python=${1:+yes}
  if command -v apt-get >/dev/null 2>&1; then
    echo "type: sudo apt-get install -y $*"
  elif command -v dnf >/dev/null 2>&1; then
    echo "type: sudo dnf install ${python:+python3 }mesa-libEGL mesa-libGL mesa-dri-drivers"
  elif command -v pacman >/dev/null 2>&1; then
    echo "type: sudo pacman -S ${python:+python }mesa libglvnd"
  elif command -v zypper >/dev/null 2>&1; then
    echo "type: sudo zypper install ${python:+python311 }Mesa-libEGL1 Mesa-libGL1 Mesa-dri"
  elif [ "$(uname -s)" = Darwin ]; then
    echo "get it from https://www.python.org/downloads/ or type: brew install python"
  else
    echo "install ${python:+Python and }Mesa's EGL driver with your package manager"
  fi
}

# --- Python --------------------------------------------------------------------------------------

# Prints the resolved path of the first Python from 3.10 on; $PYTHON is asked first.
find_python() {
  local name
  for name in ${PYTHON:+"$PYTHON"} python3 python3.14 python3.13 python3.12 python3.11 python3.10; do
    "$name" -c 'import os, sys
if sys.version_info < (3, 10): sys.exit(1)
print(os.path.realpath(getattr(sys, "_base_executable", sys.executable)))' 2>/dev/null && return
  done
  return 1
}

# Keeps a .venv that works; a set-up that did not end may have left half a package anywhere.
make_venv() {
  if [ ! -e "$unfinished" ] && "$venv/bin/python" -c 'import pip, sys
sys.exit(sys.version_info < (3, 10))' 2>/dev/null; then
    : >"$unfinished"
    return
  fi
  say "creating .venv with $1"
  rm -rf "$venv"
  mkdir "$venv"
  : >"$unfinished"
  quietly "$1" -m venv "$venv" || die_with_log "could not create .venv"
}

install_package() {
  local target=$root
  rm -f "$venv/.gpt2gl-run" "$venv/.gpt2gl-test"
  if [ "$1" = test ]; then
    say "installing gpt2gl and what its tests need (some minutes the first time)"
    target="${root}[test]"
    set -- test -c "$root/tests/constraints.txt"
  else
    say "installing gpt2gl (about a minute the first time)"
  fi
  local kind=$1
  shift
  PIP_USER=0 quietly "$venv/bin/python" -m pip install --no-input --disable-pip-version-check \
    --progress-bar off "$@" -e "$target" || die_with_log "pip failed"
  write_stamps "$kind"
  rm -f "$unfinished"
  say "ready"
}

# The set-up for the tests serves ./run as well.
write_stamps() {
  printf '%s' "$inputs" >"$venv/.gpt2gl-$1"
  if [ "$1" = test ]; then
    read_inputs run
    printf '%s' "$inputs" >"$venv/.gpt2gl-run"
  fi
}
