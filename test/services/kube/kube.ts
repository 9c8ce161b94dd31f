/** A real kube-apiserver on a real etcd, for one suite. Bring them: `scripts/services.sh kubernetes`. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { generateKeyPairSync } from 'node:crypto'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { request } from 'node:https'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { KubeConfig, type KubernetesObject, KubernetesObjectApi } from '@kubernetes/client-node'
import { parseAllDocuments, stringify } from 'yaml'

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))
const APISERVER = join(ROOT, '.tools/kube/kube-apiserver')

export const KUBE_INSTALLED = existsSync(APISERVER) && onPath('etcd')

function onPath(program: string): boolean {
  try {
    execFileSync(program, ['--version'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

/** Who a kubeconfig speaks for. */
export type Identity = 'admin' | 'gateway'
const TOKENS = `admin-token,admin,admin,system:masters
gateway-token,system:serviceaccount:toolgate:toolgate,gateway,"system:serviceaccounts,system:authenticated"
`

export class Kube {
  readonly #root = mkdtempSync(join(tmpdir(), 'kube-'))
  readonly #processes: ChildProcess[] = []
  #port = 0

  async start(): Promise<void> {
    const [client, peer, port] = [await freePort(), await freePort(), await freePort()]
    this.#port = port!
    const etcd = `http://127.0.0.1:${client}`
    const peerUrl = `http://127.0.0.1:${peer}`
    this.#run('etcd', [
      ...[
        '--data-dir',
        join(this.#root, 'etcd'),
        '--listen-client-urls',
        etcd,
        '--advertise-client-urls',
        etcd,
      ],
      ...[
        '--listen-peer-urls',
        peerUrl,
        '--initial-advertise-peer-urls',
        peerUrl,
        '--initial-cluster',
        `default=${peerUrl}`,
      ],
    ])
    const key = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey
    const keyFile = this.#write('sa.key', key.export({ type: 'pkcs8', format: 'pem' }).toString())
    this.#run(APISERVER, [
      ...['--etcd-servers', etcd, '--secure-port', String(port), '--bind-address', '127.0.0.1'],
      ...['--cert-dir', join(this.#root, 'certs'), '--token-auth-file', this.#write('tokens.csv', TOKENS)],
      ...['--service-account-issuer', 'https://kube.test', '--service-account-key-file', keyFile],
      ...['--service-account-signing-key-file', keyFile, '--service-cluster-ip-range', '10.0.0.0/24'],
      ...['--authorization-mode', 'RBAC', '--disable-admission-plugins', 'ServiceAccount'],
      ...['--enable-admission-plugins', 'OwnerReferencesPermissionEnforcement'],
    ])
    await this.#ready()
  }

  /** Path of a kubeconfig. */
  kubeconfig(identity: Identity): string {
    return this.#write(
      `${identity}.yaml`,
      stringify({
        apiVersion: 'v1',
        kind: 'Config',
        'current-context': 'test',
        contexts: [{ name: 'test', context: { cluster: 'test', user: identity } }],
        clusters: [
          {
            name: 'test',
            cluster: { server: `https://127.0.0.1:${this.#port}`, 'insecure-skip-tls-verify': true },
          },
        ],
        users: [{ name: identity, user: { token: `${identity}-token` } }],
      }),
    )
  }

  objects(): KubernetesObjectApi {
    const config = new KubeConfig()
    config.loadFromFile(this.kubeconfig('admin'))
    return KubernetesObjectApi.makeApiClient(config)
  }

  /** Applies every object of a manifest in the repository as it stands, as `kubectl apply --server-side` does. */
  async apply(manifest: string): Promise<void> {
    for (const document of parseAllDocuments(readFileSync(join(ROOT, manifest), 'utf8'))) {
      const object = (document as { toJS(): KubernetesObject }).toJS()
      const { status, text } = await this.request('PATCH', `${pathOf(object)}?fieldManager=test`, object)
      if (status >= 300) throw new Error(`${object.kind} ${object.metadata?.name}: ${status} ${text}`)
    }
  }

  /** One request in plain words: the client of the vendor knows the types it was made with and drops what they lack. */
  request(
    method: string,
    path: string,
    body?: object,
    { identity = 'admin' as Identity, accept = 'application/json' } = {},
  ): Promise<{ status: number; text: string }> {
    const type = method === 'PATCH' ? 'application/apply-patch+yaml' : 'application/json'
    const headers = { authorization: `Bearer ${identity}-token`, 'content-type': type, accept }
    const options = { host: '127.0.0.1', port: this.#port, path, method, headers, rejectUnauthorized: false }
    return new Promise((resolve, reject) => {
      const sent = request(options, response => {
        let text = ''
        response.setEncoding('utf8').on('data', chunk => {
          text += chunk
        })
        response.on('end', () => resolve({ status: response.statusCode ?? 0, text }))
      })
      sent.on('error', reject)
      sent.end(body === undefined ? undefined : JSON.stringify(body))
    })
  }

  async stop(): Promise<void> {
    for (const child of this.#processes.reverse()) {
      const ended = new Promise(resolve => child.once('exit', resolve))
      if (child.exitCode === null && child.kill('SIGTERM')) await ended
    }
    rmSync(this.#root, { recursive: true, force: true })
  }

  #run(program: string, args: string[]): void {
    this.#processes.push(spawn(program, args, { stdio: 'ignore', cwd: this.#root }))
  }

  #write(name: string, content: string): string {
    const path = join(this.#root, name)
    writeFileSync(path, content, { mode: 0o600 })
    return path
  }

  async #ready(): Promise<void> {
    const api = this.objects()
    const end = Date.now() + 110_000
    for (;;) {
      try {
        await api.read({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'default' } })
        return
      } catch (error) {
        if (Date.now() > end) throw error
        await new Promise(resolve => setTimeout(resolve, 300))
      }
    }
  }
}

/** Where the API server keeps an object. */
function pathOf({ apiVersion, kind, metadata }: KubernetesObject): string {
  const base = apiVersion === 'v1' ? '/api/v1' : `/apis/${apiVersion}`
  const namespace = metadata?.namespace === undefined ? '' : `/namespaces/${metadata.namespace}`
  return `${base}${namespace}/${kind?.toLowerCase()}s/${metadata?.name}`
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.on('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const address = server.address()
      server.close(() => resolve(typeof address === 'object' && address !== null ? address.port : 0))
    })
  })
}
