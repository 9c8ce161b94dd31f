#!/usr/bin/env bash
# Builds the image and tests it where no registry of images can be reached: mmdebstrap makes the base, and node comes from npm.
#   bash scripts/image.sh [--node 24] [--arch arm64]    needs root, buildah, podman, runc and mmdebstrap; a check before a release, about three minutes
# The image of another architecture is built and started by emulation (apt-get install qemu-user-static, binfmt_misc mounted), which takes two
# minutes more; the memory of the emulator is not that of the process, so that run has no limit of memory.
# The container runs as in production: any user but root, read-only root, no capabilities, no new privileges, the default seccomp profile, 512 MB.
# It prints size, time from start to ready, and memory. The base and node stay in .tools, the package in .pack, and an emulator stays registered;
# everything else is removed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

own=$(dpkg --print-architecture) node=24
arch=$own
while (($# > 0)); do
  case $1 in
    --node) node=$2 && shift 2 ;;
    --arch) arch=$2 && shift 2 ;;
    *) echo "image.sh: $1 is not an option" && exit 64 ;;
  esac
done
for tool in buildah podman runc mmdebstrap; do
  command -v "$tool" >/dev/null || { echo "image.sh: $tool is missing; apt-get install buildah podman runc mmdebstrap"; exit 75; }
done
memory=(--memory 512m --memory-swap 512m) nodes=$node patience=600
if [[ $arch != "$own" ]]; then
  memory=() nodes=$node-$arch patience=6000
  # F: the emulator is opened here, and a container need not have it
  emulator=/proc/sys/fs/binfmt_misc/qemu-aarch64
  [[ $arch == arm64 && -x /usr/bin/qemu-aarch64-static && -d ${emulator%/*} ]] || { echo "image.sh: no emulation of $arch"; exit 75; }
  [[ -e $emulator ]] || printf '%s' ':qemu-aarch64:M::\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00:\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff:/usr/bin/qemu-aarch64-static:F' \
    >"${emulator%/*}/register"
fi
mkdir -p .pack .tools
tools=$(realpath .tools) work=$(mktemp -d) name=toolgate-image-$$
export CONTAINERS_STORAGE_CONF=$work/storage.conf
cat >"$work/storage.conf" <<CONF
[storage]
driver = "vfs"
graphroot = "$work/storage"
runroot = "$work/run"
CONF
finish() {
  podman rm --force --time 2 "$name" >/dev/null 2>&1 || true
  buildah rm --all >/dev/null 2>&1 || true
  rm -rf "$work"
}
trap finish EXIT

# the base: as debian:trixie-slim, which leaves documentation and translations out as well
base=$tools/trixie-slim-$arch.tar
if [[ ! -s $base ]]; then
  excluded=('/usr/share/doc/*' '/usr/share/man/*' '/usr/share/info/*' '/usr/share/locale/*' '/usr/share/groff/*' '/usr/share/lintian/*' '/usr/share/linda/*')
  mmdebstrap --quiet --architectures="$arch" --variant=minbase "${excluded[@]/#/--dpkgopt=path-exclude=}" --dpkgopt=path-include='/usr/share/doc/*/copyright' \
    trixie "$base.new" --format=tar >/dev/null
  mv "$base.new" "$base"
fi
if [[ ! -x $tools/nodes/$nodes/bin/node ]]; then
  mkdir -p "$tools/nodes/$nodes"
  archive=$(cd "$tools/nodes" && npm pack --silent "node-linux-${arch/amd64/x64}@$node" | tail -n 1)
  tar -xzf "$tools/nodes/$archive" -C "$tools/nodes/$nodes" --strip-components=1
  rm "$tools/nodes/$archive"
fi

ls .pack/toolgate-*.tgz >/dev/null 2>&1 || npm run --silent pack -- .pack
from_archive() {
  local container
  container=$(buildah from --arch "$arch" scratch)
  buildah add --quiet "$container" "$1" / >/dev/null
  [[ $# -lt 3 ]] || buildah copy --quiet "$container" "$3" /usr/local/bin/node >/dev/null
  buildah commit --quiet --rm "$container" "$2" >/dev/null
}
from_archive "$base" localhost/base
from_archive "$base" localhost/node "$tools/nodes/$nodes/bin/node"
began=$SECONDS
buildah build --platform "linux/$arch" --isolation chroot --format docker --quiet --build-arg BASE=localhost/base --build-arg NODE_IMAGE=localhost/node \
  --build-arg VERSION="$(node -p 'require("./package.json").version')" --build-arg REVISION="$(git rev-parse HEAD)" \
  --tag localhost/toolgate . >/dev/null
bytes=$(podman image inspect localhost/toolgate --format '{{.Size}}')
echo "image: linux/$arch, Node $node, $((bytes / 1000000)) MB, built in $((SECONDS - began)) s"
((bytes <= 300000000)) || { echo 'image.sh: the image is larger than 300 MB'; exit 1; }

# without an init system: the network of the host, limits that any user may set, and the health check run by hand
run() (
  # out of memory, the monitor writes a file where it runs
  cd "$work"
  podman run --platform "linux/$arch" --runtime runc --network host --cgroups "${CGROUPS:-enabled}" --name "$name" --detach \
    --read-only --read-only-tmpfs=false --cap-drop all --security-opt no-new-privileges "${memory[@]}" \
    --ulimit nofile=4096:4096 --ulimit nproc=4096:4096 --health-interval disable --volume "$work/data:/data" "$@" localhost/toolgate >/dev/null
)
mkdir -m 0700 "$work/data"
chown 10001:10001 "$work/data"
began_ms=$(date +%s%3N)
run --env NODE_ENV=development --env ALLOW_INSECURE_DEV=true --env GATEWAY_PORT=18080 --env API_PORT=18081 --env AUTH_PORT=18082 \
  --env METRICS_PORT=19464 --env EXAMPLE_PORT=18090 --env WORKERS=2
for ((i = 0; i < patience; i++)); do
  ! podman logs "$name" 2>/dev/null | grep -q '^{"ready":true' || break
  [[ $(podman inspect "$name" --format '{{.State.Running}}') == true ]] ||
    { podman logs "$name"; podman inspect "$name" --format 'ended with {{.State.ExitCode}}, out of memory: {{.State.OOMKilled}}'; exit 1; }
  sleep 0.1
done
echo "ready after $(($(date +%s%3N) - began_ms)) ms"
pid=$(podman inspect "$name" --format '{{.State.Pid}}')
grep -E '^(Uid|CapEff|CapBnd|NoNewPrivs|Seccomp):' "/proc/$pid/status" | sed 's/^/  /'
urls=(--url http://localhost:18080 --auth-url http://localhost:18082/realms/platform)
podman exec "$name" node /opt/toolgate/dist/cli/index.js demo "${urls[@]}" >"$work/demo.log" || { tail "$work/demo.log"; exit 1; }
podman exec "$name" node /opt/toolgate/dist/cli/index.js demo "${urls[@]}" --control-plane --api-url http://localhost:18081 >"$work/demo.log" ||
  { tail "$work/demo.log"; exit 1; }
echo 'both demos passed in the container'
podman healthcheck run "$name" >/dev/null && echo 'the health check passed'
! podman exec "$name" node -e 'require("node:fs").writeFileSync("/etc/toolgate/x", "")' 2>/dev/null || { echo 'the root can be written'; exit 1; }
echo "memory: $(($(awk '/^VmRSS/ {print $2}' "/proc/$pid/status") / 1024)) MiB resident, $(($(awk '/^VmHWM/ {print $2}' "/proc/$pid/status") / 1024)) MiB at most"
began_ms=$(date +%s%3N)
podman stop --time 20 "$name" >/dev/null
echo "stopped after $(($(date +%s%3N) - began_ms)) ms with exit code $(podman inspect "$name" --format '{{.State.ExitCode}}')"
