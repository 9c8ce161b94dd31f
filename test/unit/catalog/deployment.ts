/** A directory of resources, a server of documents and a running directory source, for tests. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { parse, stringify } from 'yaml'
import { createDirectorySource } from '../../../src/catalog/directory/source.ts'
import type { ToolSource } from '../../../src/catalog/source.ts'
import { reviewView } from '../../../src/data-plane/listing/view-review.ts'
import type { Tool } from '../../../src/model/tool.ts'
import type { ToolSetStatus } from '../../../src/model/tool-set.ts'
import { createEgress } from '../../../src/net/egress/client.ts'
import { noDamage } from '../../fixtures/no-damage.ts'

export const API_VERSION = 'toolgate.dev/v1alpha1'

export class Deployment {
  readonly root = mkdtempSync(join(tmpdir(), 'toolsets-'))
  readonly published: (readonly Tool[])[] = []
  readonly logged: { readonly fields: Record<string, unknown>; readonly message: string }[] = []
  readonly #egress = createEgress({ allow: [], allowLoopback: true })
  #source: ToolSource | undefined

  write(path: string, content: unknown): void {
    const file = join(this.root, 'toolsets', path)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, typeof content === 'string' ? content : stringify(content))
  }

  remove(path: string): void {
    rmSync(join(this.root, 'toolsets', path), { recursive: true })
  }

  async start(variables: Record<string, string> = {}): Promise<void> {
    mkdirSync(join(this.root, 'toolsets'), { recursive: true })
    const log = (fields: object, message: string): void => {
      this.logged.push({ fields: fields as Record<string, unknown>, message })
    }
    this.#source = createDirectorySource({
      directory: join(this.root, 'toolsets'),
      dataDir: join(this.root, 'data'),
      egress: this.#egress,
      apiGroup: 'toolgate.dev',
      variables,
      log: { isLevelEnabled: () => true, debug: log, info: log, warn: log, error: log },
      onDamage: noDamage,
      review: reviewView,
      pollIntervalMs: 500,
    })
    await this.#source.start(tools => this.published.push(tools))
  }

  /** Stops the source only, as before a restart on the same directory. */
  async stop(): Promise<void> {
    await this.#source?.close()
    this.#source = undefined
  }

  async close(): Promise<void> {
    await this.stop()
    await this.#egress.close()
    rmSync(this.root, { recursive: true, force: true })
  }

  get tools(): readonly Tool[] {
    return this.published.at(-1) ?? []
  }

  get names(): readonly string[] {
    return this.tools.map(tool => tool.name).sort()
  }

  status(name: string, namespace = 'tenant-acme'): ToolSetStatus | undefined {
    try {
      return parse(
        readFileSync(join(this.root, 'data/status', namespace, `${name}.yaml`), 'utf8'),
      ) as ToolSetStatus
    } catch {
      return undefined
    }
  }
}

export function toolSetResource(name: string, spec: object, namespace = 'tenant-acme'): object {
  return {
    apiVersion: API_VERSION,
    kind: 'ToolSet',
    metadata: { name, namespace },
    spec: { displayName: name, baseURL: 'http://backend.test', ...spec },
  }
}

/** A document with one GET operation for each id. */
export function documentOf(...operationIds: string[]): string {
  const paths = Object.fromEntries(
    operationIds.map(id => [`/${id}`, { get: { operationId: id, summary: `Does ${id}` } }]),
  )
  return JSON.stringify({ openapi: '3.1.0', info: { title: 'T', version: '1' }, paths })
}

export function inline(...operationIds: string[]): object {
  return { openAPISpec: { inline: documentOf(...operationIds) } }
}

/** Waits until the check holds. */
export async function until(check: () => boolean, what: string, timeoutMs = 8000): Promise<void> {
  const end = Date.now() + timeoutMs
  while (!check()) {
    if (Date.now() > end) throw new Error(`waited ${timeoutMs} ms for ${what}`)
    await new Promise(resolve => setTimeout(resolve, 20))
  }
}

/** Responds to every request as the test defines. */
export async function serve(
  handler: (request: IncomingMessage, response: ServerResponse) => void,
): Promise<{ readonly url: string; close(): Promise<void> }> {
  const server = createServer(handler)
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/openapi.json`,
    close: () =>
      new Promise(resolve => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
