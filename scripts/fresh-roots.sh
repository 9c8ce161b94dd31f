#!/usr/bin/env bash
# Runs what README.md and docs/install.md say as a new user of a new machine: a Debian 13 root with Node and npm, a home directory that is empty.
#   bash scripts/fresh-roots.sh [--node "20 22 24"] [--package-only]        a check before a release; needs root, mmdebstrap and a built .pack
# For each version of Node: the package from its tarball without network, then a clone with `npm ci && npm start`; both with both demos.
# Root and Node binaries are those of scripts/test-nodes.sh. Exit code 75: this machine cannot have such a root.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

nodes='20 22 24' clones=yes
while (($# > 0)); do
  case $1 in
    --node) nodes=$2 && shift 2 ;;
    --package-only) clones= && shift ;;
    *) echo "fresh-roots.sh: $1 is not an option" && exit 64 ;;
  esac
done
package=$(realpath .pack/toolgate-*.tgz) || { echo 'fresh-roots.sh: run npm run pack -- .pack first'; exit 64; }
# makes the root and brings the binaries; it runs one small test
bash scripts/test-nodes.sh --node "$nodes" test/unit/net/server/uws/native.test.ts >/dev/null || exit $?
tools=$(realpath .tools) npm=$(npm root -g)/npm registry=$(npm config get registry --loglevel=silent) work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
git archive HEAD | gzip -1 >"$work/clone.tar.gz"
cp "$package" "$work/package.tgz"
cp scripts/smoke.mjs "$work/smoke.mjs"

# The mounts belong to a private namespace and end with it.
# shellcheck disable=SC2016
in_root='
  root=$1 tools=$2 node=$3 npm=$4 work=$5 registry=$6 command=$7
  for folder in tmp home; do mount -t tmpfs tmpfs "$root/$folder"; done
  mkdir -p "$root/opt/nodes" "$root/opt/npm" "$root/tmp/given" "$root/home/fresh"
  mount --bind "$tools/nodes/$node" "$root/opt/nodes"
  mount --bind "$npm" "$root/opt/npm"
  cp -r "$work/." "$root/tmp/given/"
  chmod -R a+rX "$root/tmp/given" && chmod 1777 "$root/tmp" && chown 12345:12345 "$root/home/fresh"
  touch "$root/etc/resolv.conf" && mount --bind /etc/resolv.conf "$root/etc/resolv.conf"
  # the registry may have an authority that only this machine knows
  mount --bind /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/ca-certificates.crt"
  ln -sfn /opt/npm/bin/npm-cli.js "$root/usr/local/bin/npm"
  ln -sfn /opt/npm/bin/npx-cli.js "$root/usr/local/bin/npx"
  mount -t proc proc "$root/proc"
  mount --rbind /dev "$root/dev"
  exec chroot "$root" setpriv --reuid 12345 --regid 12345 --clear-groups \
    env -i HOME=/home/fresh PATH=/opt/nodes/bin:/usr/local/bin:/usr/bin:/bin SMOKE_PATIENCE="${SMOKE_PATIENCE:-1}" npm_config_registry="$registry" npm_config_cafile=/etc/ssl/certs/ca-certificates.crt \
    bash -c "cd && $command"
'
# try NODE NAME COMMAND: one line, with what it took and the size of what was installed; the output is shown when it fails
failed=0
try() {
  local began=$SECONDS log=$work.log size
  if unshare --mount bash -c "$in_root" -- "$tools/trixie" "$tools" "$1" "$npm" "$work" "$registry" "$3" >"$log" 2>&1; then
    size=$(sed -n 's/^installed //p' "$log")
    printf 'ok   Node %s, %s: %d s, %s%s\n' "$1" "$2" $((SECONDS - began)) "$(sed -n 's/^smoke: ready/ready/p' "$log")" "${size:+, $size}"
  else
    printf 'FAIL Node %s, %s\n' "$1" "$2"
    tail -n 30 "$log" | cut -c 1-200 | sed 's/^/     /'
    failed=1
  fi
  rm -f "$log"
}
for node in $nodes; do
  try "$node" package 'node /tmp/given/smoke.mjs /tmp/given/package.tgz && mkdir size && cd size && npm install --offline --silent /tmp/given/package.tgz && du -sm node_modules | sed "s/\t.*/ MB/; s/^/installed /"'
  [[ -z $clones ]] ||
    try "$node" clone 'mkdir toolgate && cd toolgate && tar -xzf /tmp/given/clone.tar.gz && npm ci --no-audit --no-fund --loglevel=error && node scripts/smoke.mjs'
done
exit "$failed"
