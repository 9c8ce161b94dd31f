#!/usr/bin/env bash
# Installs what some test suites need beside Node, and starts none of it: each suite starts its own.
# Usage: scripts/services.sh [redis] [postgresql] [keycloak] [conformance]   (without arguments: all; what is there is left alone)
# Servers come from Debian's packages (needs root); Keycloak comes over Maven and the MCP conformance suite over npm, into .tools/.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

DENY_START=/usr/sbin/policy-rc.d
CONFORMANCE=0.2.0-alpha.12
# the suite needs a newer Node than we do
CONFORMANCE_NODE=24.21.0

packages=()
steps=()

want_redis() { command -v redis-server >/dev/null || packages+=(redis-server); }

want_postgresql() { compgen -G '/usr/lib/postgresql/*/bin/postgres' >/dev/null || packages+=(postgresql); }

want_keycloak() {
  command -v java >/dev/null || packages+=(openjdk-17-jre-headless)
  compgen -G '.tools/keycloak-*/bin/kc.sh' >/dev/null && return
  command -v mvn >/dev/null || packages+=(maven)
  steps+=(fetch_keycloak)
}

want_conformance() {
  local installed=.tools/conformance/node_modules/@modelcontextprotocol/conformance/package.json
  [[ -x .tools/conformance/node_modules/node/bin/node ]] && grep -qs "\"version\": \"$CONFORMANCE\"" "$installed" && return
  steps+=(fetch_conformance)
}

fetch_keycloak() { node scripts/keycloak.mjs fetch; }

fetch_conformance() {
  mkdir -p .tools/conformance
  npm install --prefix .tools/conformance --save-exact --no-audit --no-fund --loglevel=error \
    "@modelcontextprotocol/conformance@$CONFORMANCE" "node@$CONFORMANCE_NODE"
}

# The packages would start a server of their own on the well-known port; exit code 101 forbids it (Debian policy, invoke-rc.d).
install_packages() {
  if [[ $(id -u) != 0 ]]; then
    printf 'Missing: %s. Run as root: apt-get install -y --no-install-recommends %s\n' "$*" "$*" >&2
    return 1
  fi
  local placed= code=0
  if [[ ! -e $DENY_START ]]; then
    printf '#!/bin/sh\nexit 101\n' >"$DENY_START"
    chmod +x "$DENY_START"
    placed=yes
  fi
  export DEBIAN_FRONTEND=noninteractive
  { apt-get update -qq && apt-get install -y -qq --no-install-recommends "$@"; } || code=$?
  [[ -z $placed ]] || rm -f "$DENY_START"
  return "$code"
}

(($# > 0)) || set -- redis postgresql keycloak conformance
for name in "$@"; do
  case $name in
    redis | postgresql | keycloak | conformance) "want_$name" ;;
    *)
      printf 'services.sh: there is no "%s"; use redis, postgresql, keycloak or conformance\n' "$name" >&2
      exit 64
      ;;
  esac
done

if ((${#packages[@]} + ${#steps[@]} == 0)); then
  echo 'nothing is missing'
  exit 0
fi
((${#packages[@]} == 0)) || install_packages "${packages[@]}"
for step in ${steps[@]+"${steps[@]}"}; do
  "$step"
done
