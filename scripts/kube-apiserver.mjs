/** Builds a real kube-apiserver with the Go toolchain into .tools/kube, for the tests of the Kubernetes source. */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const KUBERNETES = '1.34.1'
const FOLDER = fileURLToPath(new URL('../.tools/kube', import.meta.url))
/** The main module refers to these beside itself; published versions take their place. */
const STAGING =
  `api apiextensions-apiserver apimachinery apiserver cli-runtime client-go cloud-provider cluster-bootstrap
  code-generator component-base component-helpers controller-manager cri-api cri-client csi-translation-lib
  dynamic-resource-allocation endpointslice externaljwt kms kube-aggregator kube-controller-manager kube-proxy
  kube-scheduler kubectl kubelet metrics mount-utils pod-security-admission sample-apiserver sample-cli-plugin
  sample-controller`.split(/\s+/)

function goMod() {
  const published = `v0.${KUBERNETES.split('.').slice(1).join('.')}`
  return [
    'module kube',
    '',
    'go 1.24',
    '',
    `require k8s.io/kubernetes v${KUBERNETES}`,
    '',
    ...STAGING.map(name => `replace k8s.io/${name} => k8s.io/${name} ${published}`),
    '',
  ].join('\n')
}

function versionOf(program) {
  return execFileSync(program, ['--version'], { encoding: 'utf8' }).trim()
}

function main() {
  const target = join(FOLDER, 'kube-apiserver')
  if (existsSync(target) && versionOf(target) === `Kubernetes v${KUBERNETES}`) {
    process.stdout.write(`${target} already exists, with version ${KUBERNETES}\n`)
    return
  }
  mkdirSync(FOLDER, { recursive: true })
  writeFileSync(join(FOLDER, 'go.mod'), goMod())
  const command = 'k8s.io/kubernetes/cmd/kube-apiserver'
  writeFileSync(join(FOLDER, 'tools.go'), `//go:build tools\n\npackage kube\n\nimport _ "${command}"\n`)
  const GOFLAGS = `${process.env.GOFLAGS ?? ''} -mod=mod`.trim()
  const go = args =>
    execFileSync('go', args, { cwd: FOLDER, stdio: 'inherit', env: { ...process.env, GOFLAGS } })
  const said = `-s -w -X k8s.io/component-base/version.gitVersion=v${KUBERNETES}`
  go(['build', '-trimpath', '-ldflags', said, '-o', 'kube-apiserver', command])
  process.stdout.write(`built ${target}; the tests also need etcd (Debian package: etcd-server)\n`)
}

main()
