/** A Keycloak for one suite, started by scripts/keycloak.mjs, and its admin API as a test sees it. No assertions. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { servicesRequired } from '../../fixtures/redis-server.ts'

/** Whether the distribution has been brought and a Java is there; always when the services are required. */
export function hasKeycloak(): boolean {
  if (servicesRequired()) return true
  return (
    spawnSync('java', ['-version']).status === 0 && toolNames().some(name => name.startsWith('keycloak-'))
  )
}

function toolNames(): string[] {
  try {
    return readdirSync('.tools')
  } catch {
    return []
  }
}

export class Keycloak {
  readonly url: string
  readonly issuer: string
  readonly #process: ChildProcess

  private constructor(url: string, issuer: string, process: ChildProcess) {
    this.url = url
    this.issuer = issuer
    this.#process = process
  }

  static async start(): Promise<Keycloak> {
    const child = spawn(process.execPath, ['scripts/keycloak.mjs', 'start'], {
      stdio: ['pipe', 'pipe', 'pipe'],
    })
    let complaints = ''
    child.stderr.on('data', chunk => {
      complaints = (complaints + chunk).slice(-5000)
    })
    for await (const line of createInterface({ input: child.stdout })) {
      if (!line.startsWith('{')) continue
      const { url, issuer } = JSON.parse(line) as { url: string; issuer: string }
      return new Keycloak(url, issuer, child)
    }
    throw new Error(`Keycloak did not start: ${complaints}`)
  }

  /** Ends it; resolves when its port is closed. */
  async stop(): Promise<void> {
    if (this.#process.exitCode !== null) return
    const ended = new Promise(resolve => this.#process.once('exit', resolve))
    this.#process.kill('SIGTERM')
    await ended
  }

  /** The clients with a name, as the admin API shows them. */
  async clientsNamed(name: string): Promise<Record<string, unknown>[]> {
    const response = await fetch(`${this.issuer}/protocol/openid-connect/token`, {
      method: 'POST',
      body: new URLSearchParams({
        grant_type: 'client_credentials',
        client_id: 'toolgate-admin',
        client_secret: 'toolgate-admin-secret',
      }),
    })
    const { access_token } = (await response.json()) as { access_token: string }
    const listed = await fetch(`${this.url}/admin/realms/platform/clients?max=500`, {
      headers: { authorization: `Bearer ${access_token}` },
    })
    return ((await listed.json()) as Record<string, unknown>[]).filter(client => client.name === name)
  }
}
