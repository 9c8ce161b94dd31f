#!/usr/bin/env bash
# Installs the servers that some test suites need, on Debian and its kin, and starts none of them: each suite starts its own.
# Usage: scripts/services.sh [redis] [postgresql]      (without arguments: all; what is there already is left alone)
set -euo pipefail

DENY_START=/usr/sbin/policy-rc.d

has_redis() { command -v redis-server >/dev/null; }
has_postgresql() { compgen -G '/usr/lib/postgresql/*/bin/postgres' >/dev/null; }

# The packages would start a server of their own on the well-known port; exit code 101 forbids it (Debian policy, invoke-rc.d).
without_starting() {
  local placed=
  if [[ ! -e $DENY_START ]]; then
    printf '#!/bin/sh\nexit 101\n' >"$DENY_START"
    chmod +x "$DENY_START"
    placed=yes
  fi
  local code=0
  "$@" || code=$?
  [[ -z $placed ]] || rm -f "$DENY_START"
  return "$code"
}

install() {
  if [[ $(id -u) != 0 ]]; then
    printf 'Missing: %s. Run as root: apt-get install -y --no-install-recommends %s\n' "$*" "$*" >&2
    return 1
  fi
  export DEBIAN_FRONTEND=noninteractive
  apt-get update -qq
  without_starting apt-get install -y -qq --no-install-recommends "$@"
}

missing=()
for service in "${@:-redis postgresql}"; do
  for name in $service; do
    case $name in
      redis) has_redis || missing+=(redis-server) ;;
      postgresql) has_postgresql || missing+=(postgresql) ;;
      *)
        printf 'services.sh: there is no service "%s"; use redis or postgresql\n' "$name" >&2
        exit 64
        ;;
    esac
  done
done

if ((${#missing[@]} == 0)); then
  echo 'nothing is missing'
else
  install "${missing[@]}"
fi
