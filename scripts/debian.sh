# shellcheck shell=bash
# Sourced by the scripts that take programs from Debian's packages.
as_root() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi; }
# update_packages REMEDY: ends with the remedy where there is no apt-get.
update_packages() {
  command -v apt-get >/dev/null || { echo "${0##*/}: no apt-get: $1" >&2; exit 1; }
  as_root apt-get update -qq
}
