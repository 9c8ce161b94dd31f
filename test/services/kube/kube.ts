/** A real kube-apiserver on a real etcd, for one suite. Bring them: `scripts/services.sh kubernetes`. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { request } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseAllDocuments, stringify } from 'yaml'
import { eventually } from '../../contract/toolsets/source-world.ts'
import { freePort } from '../../fixtures/free-ports.ts'
import { makeKeyPair } from '../../fixtures/key-pair.ts'

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))
const APISERVER = join(ROOT, '.tools/kube/kube-apiserver')
const ADMIN_TOKEN = 'admin-token'

export const KUBE_INSTALLED = existsSync(APISERVER) && onPath('etcd')

function onPath(program: string): boolean {
  try {
    execFileSync(program, ['--version'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

/** An object as it stands in YAML. */
export interface KubeManifest {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: {
    readonly name: string
    readonly namespace?: string
    readonly uid?: string
    readonly [field: string]: unknown
  }
  readonly [field: string]: unknown
}

export interface KubeResponse {
  readonly status: number
  readonly text: string
  /** Texts of the header `Warning`. */
  readonly warnings: string | undefined
}

export class Kube {
  readonly #root = mkdtempSync(join(tmpdir(), 'kube-'))
  readonly #processes: ChildProcess[] = []
  #server: ChildProcess | undefined
  #arguments: { readonly [name: string]: string } = {}
  #port = 0

  /** With the definitions, rights and namespaces that the repository ships. */
  async start(): Promise<void> {
    const [client, peer, port] = [await freePort(), await freePort(), await freePort()]
    this.#port = port
    const etcd = `http://127.0.0.1:${client}`
    const peerUrl = `http://127.0.0.1:${peer}`
    this.#run('etcd', {
      'data-dir': join(this.#root, 'etcd'),
      'listen-client-urls': etcd,
      'advertise-client-urls': etcd,
      'listen-peer-urls': peerUrl,
      'initial-advertise-peer-urls': peerUrl,
      'initial-cluster': `default=${peerUrl}`,
      'unsafe-no-fsync': 'true',
    })
    const key = makeKeyPair('rsa').privateKey
    const keyFile = this.#write('sa.key', key.export({ type: 'pkcs8', format: 'pem' }).toString())
    this.#arguments = {
      'etcd-servers': etcd,
      'secure-port': String(port),
      'bind-address': '127.0.0.1',
      'cert-dir': join(this.#root, 'certs'),
      'token-auth-file': this.#write('tokens.csv', `${ADMIN_TOKEN},admin,admin,system:masters\n`),
      'service-account-issuer': 'https://kube.test',
      'service-account-key-file': keyFile,
      'service-account-signing-key-file': keyFile,
      'service-cluster-ip-range': '10.0.0.0/24',
      'authorization-mode': 'RBAC',
      'disable-admission-plugins': 'ServiceAccount',
      'enable-admission-plugins': 'OwnerReferencesPermissionEnforcement',
    }
    await this.startServer()
    // toolgate and tenant-acme are in the files
    for (const name of ['platform', 'tenant-other']) {
      await this.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } })
    }
    for (const file of [
      'helm/toolgate/crds/toolsets.toolgate.dev',
      'helm/toolgate/crds/tools.toolgate.dev',
      'helm/toolgate/crds/toolviews.toolgate.dev',
      'helm/toolgate/crds/gatewayinstances.toolgate.dev',
      'helm/toolgate/crds/gatewaybindings.toolgate.dev',
      'kubernetes/rbac',
      'kubernetes/tenant-binding',
    ]) {
      for (const document of parseAllDocuments(readFileSync(join(ROOT, `deploy/${file}.yaml`), 'utf8'))) {
        const refused = await this.apply((document as { toJS(): KubeManifest }).toJS())
        if (refused !== undefined) throw new Error(`deploy/${file}.yaml: ${refused}`)
      }
    }
    for (const plural of ['toolsets', 'tools', 'toolviews', 'gatewayinstances', 'gatewaybindings']) {
      const path = `/apis/toolgate.dev/v1alpha1/${plural}`
      await eventually(
        async () => (await this.request('GET', path)).status === 200,
        `the definition of ${plural}`,
      )
    }
  }

  /** The API server alone, on the same port and data as before. */
  async startServer(): Promise<void> {
    this.#server = this.#run(APISERVER, this.#arguments)
    const isReady = async () => (await this.request('GET', '/readyz')).status === 200
    await eventually(isReady, 'the API server', 110_000)
  }

  async stopServer(): Promise<void> {
    if (this.#server !== undefined) await ended(this.#server, 'SIGKILL')
  }

  /** Creates or changes an object, as `kubectl apply --server-side` does; why it was refused, undefined when it was not. */
  async apply(object: KubeManifest, manager = 'admin'): Promise<string | undefined> {
    const { status, text } = await this.request(
      'PATCH',
      `${pathOf(object)}?fieldManager=${manager}&force=true`,
      { body: object },
    )
    if (status < 300) return undefined
    return (JSON.parse(text) as { message: string }).message
  }

  /** undefined when the status is not 200. */
  async get(
    kind: string,
    name: string,
    namespace: string,
    apiVersion = 'toolgate.dev/v1alpha1',
  ): Promise<KubeManifest | undefined> {
    const { status, text } = await this.request(
      'GET',
      pathOf({ apiVersion, kind, metadata: { name, namespace } }),
    )
    return status === 200 ? (JSON.parse(text) as KubeManifest) : undefined
  }

  async list(kind: 'ToolSet' | 'Tool', namespace: string): Promise<KubeManifest[]> {
    const { text } = await this.request(
      'GET',
      `/apis/toolgate.dev/v1alpha1/namespaces/${namespace}/${kind.toLowerCase()}s`,
    )
    return (JSON.parse(text) as { items: KubeManifest[] }).items
  }

  async remove(
    kind: string,
    name: string,
    namespace: string,
    apiVersion = 'toolgate.dev/v1alpha1',
  ): Promise<void> {
    await this.request('DELETE', pathOf({ apiVersion, kind, metadata: { name, namespace } }))
  }

  /** Deletes every tool set, tool and tool view. */
  async clear(): Promise<void> {
    for (const namespace of ['tenant-acme', 'tenant-other', 'platform']) {
      for (const plural of ['toolsets', 'tools', 'toolviews']) {
        await this.request('DELETE', `/apis/toolgate.dev/v1alpha1/namespaces/${namespace}/${plural}`)
      }
    }
  }

  request(
    method: string,
    path: string,
    {
      body,
      token = ADMIN_TOKEN,
      accept = 'application/json',
    }: { body?: object; token?: string; accept?: string } = {},
  ): Promise<KubeResponse> {
    const type = method === 'PATCH' ? 'application/apply-patch+yaml' : 'application/json'
    const headers = { authorization: `Bearer ${token}`, 'content-type': type, accept }
    const options = { host: '127.0.0.1', port: this.#port, path, method, headers, rejectUnauthorized: false }
    return new Promise((resolve, reject) => {
      const sent = request(options, response => {
        let text = ''
        response.setEncoding('utf8').on('data', chunk => {
          text += chunk
        })
        const { warning } = response.headers
        response.on('end', () => resolve({ status: response.statusCode ?? 0, text, warnings: warning }))
      })
      sent.on('error', reject)
      sent.end(body === undefined ? undefined : JSON.stringify(body))
    })
  }

  /** What a pod of the gateway would find in its file system: a token of its service account. */
  async gatewayToken(account = 'toolgate'): Promise<string> {
    const path = `/api/v1/namespaces/toolgate/serviceaccounts/${account}/token`
    const body = {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenRequest',
      spec: { expirationSeconds: 3600 },
    }
    const { text } = await this.request('POST', path, { body })
    return (JSON.parse(text) as { status: { token: string } }).status.token
  }

  /** URL of the API server. */
  get url(): string {
    return `https://127.0.0.1:${this.#port}`
  }

  /** Path of a kubeconfig with the rights of the gateway. @param port of a proxy in front of the API server */
  gatewayKubeconfig(port = this.#port): Promise<string> {
    return this.kubeconfigOf('toolgate', port)
  }

  /** Path of a kubeconfig with the rights of a service account in the namespace toolgate. */
  async kubeconfigOf(account: string, port = this.#port): Promise<string> {
    return this.#kubeconfig(account, await this.gatewayToken(account), port)
  }

  adminKubeconfig(): string {
    return this.#kubeconfig('admin', ADMIN_TOKEN, this.#port)
  }

  #kubeconfig(user: string, token: string, port: number): string {
    const server = `https://127.0.0.1:${port}`
    const config = {
      apiVersion: 'v1',
      kind: 'Config',
      'current-context': 'test',
      contexts: [{ name: 'test', context: { cluster: 'test', user } }],
      clusters: [{ name: 'test', cluster: { server, 'insecure-skip-tls-verify': true } }],
      users: [{ name: user, user: { token } }],
    }
    return this.#write(`${user}.yaml`, stringify(config))
  }

  async stop(): Promise<void> {
    for (const child of this.#processes.reverse()) await ended(child, 'SIGTERM')
    rmSync(this.#root, { recursive: true, force: true })
  }

  #run(program: string, options: { readonly [name: string]: string }): ChildProcess {
    const args = Object.entries(options).map(([name, value]) => `--${name}=${value}`)
    const child = spawn(program, args, { stdio: 'ignore', cwd: this.#root })
    this.#processes.push(child)
    return child
  }

  #write(name: string, content: string): string {
    const path = join(this.#root, name)
    writeFileSync(path, content, { mode: 0o600 })
    return path
  }
}

async function ended(child: ChildProcess, signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exit = new Promise(resolve => child.once('exit', resolve))
  child.kill(signal)
  await exit
}

/** Where the API server keeps an object. */
export function pathOf({ apiVersion, kind, metadata }: KubeManifest): string {
  const base = apiVersion === 'v1' ? '/api/v1' : `/apis/${apiVersion}`
  const namespace = metadata.namespace === undefined ? '' : `/namespaces/${metadata.namespace}`
  return `${base}${namespace}/${kind.toLowerCase()}s/${metadata.name}`
}
