/** Synchronizes the APIs of type mcp of the control plane: each one becomes a tool set of its tenant. */
import { join } from 'node:path'
import { SerialQueue } from '../base/async/serial-queue.ts'
import type { OnDamage } from '../base/fs/damage.ts'
import type { ControlShare } from '../link/control-share.ts'
import type { ReportedDefinitions } from '../link/report.ts'
import type { McpApiShare, TenantShare } from '../link/share-schema.ts'
import { hostsKeyOf } from '../model/bound-secret.ts'
import { secretOfTenant } from '../model/mcp-upstream.ts'
import type { OAuthClient, Tool } from '../model/tool.ts'
import {
  DEFAULT_MCP_REFRESH_MS,
  DEFAULT_TIMEOUT_MS,
  DEFAULT_TOOL_DEFAULTS,
  type DeclaredAuthentication,
  type KeyReference,
  type ToolSet,
} from '../model/tool-set.ts'
import type { Egress } from '../net/egress/egress.ts'
import type { Log } from '../telemetry/log.ts'
import { Reconciler } from './reconcile.ts'
import type { ReportedStatus } from './source.ts'
import { createCompiler } from './sync/compiler.ts'
import { DefinitionStore } from './sync/definition-store.ts'
import { DocumentStore } from './sync/document-store.ts'
import type { ReferenceReader } from './sync/tool-set-sync.ts'

interface McpApisOptions {
  readonly references: ReferenceReader
  readonly dataDir: string
  readonly egress: Egress
  readonly log: Log
  readonly onDamage: OnDamage
  readonly now: () => number
}

const MAX_NAME_CHARS = 64
const NO_REVIEW = () => Promise.reject(new Error('APIs of type mcp have no views'))

export class McpApis {
  readonly #compiler = createCompiler()
  readonly #reconciler: Reconciler
  readonly #changes = new SerialQueue()
  readonly #toolSets = new WeakMap<TenantShare, readonly ToolSet[]>()
  #applied: readonly ToolSet[] = []
  #closed = false

  /** @param publish called with the tools of all these APIs when they change */
  constructor({ dataDir, onDamage, ...parts }: McpApisOptions, publish: (tools: readonly Tool[]) => void) {
    const folder = join(dataDir, 'mcp-apis')
    this.#reconciler = new Reconciler(
      {
        ...parts,
        references: { ...parts.references, readSecret: (...ref) => readBound(parts.references, ...ref) },
        compiler: this.#compiler,
        documents: new DocumentStore(folder, onDamage),
        definitions: new DefinitionStore(folder, onDamage),
        random: Math.random,
        servesEach: true,
        // the overview of the gateway shows them
        statuses: { write: async () => {}, remove: async () => {} },
        viewStatuses: { write: async () => {}, remove: async () => {} },
        review: NO_REVIEW,
      },
      publish,
    )
  }

  /** Takes up the APIs of a share. Resolves when those that it has no more are removed; a server that hangs delays no other. Never rejects. */
  apply({ tenants }: ControlShare): Promise<void> {
    const toolSets = [...tenants.values()].flatMap(tenant => this.#toolSetsOf(tenant))
    return this.#changes.run(async () => {
      if (this.#closed || isSame(toolSets, this.#applied)) return
      this.#applied = toolSets
      await this.#reconciler.begin({
        toolSets: toolSets.map(toolSet => ({
          namespace: toolSet.namespace,
          name: toolSet.name,
          toolSet,
          fault: undefined,
        })),
        manualTools: [],
        views: [],
        faults: [],
      })
    })
  }

  /** Synchronizes the APIs whose secret has changed. */
  refreshLocal(): Promise<void> {
    return this.#reconciler.refreshLocal()
  }

  statuses(): readonly ReportedStatus[] {
    return this.#reconciler.statuses()
  }

  /** What is served of each server that is not trusted, once it has been read. */
  definitions(): readonly ReportedDefinitions[] {
    return this.#reconciler
      .definitions()
      .map(({ name, hash, pending = null }) => ({ apiId: name, specHash: hash, pending }))
  }

  async close(): Promise<void> {
    this.#closed = true
    await this.#reconciler.close()
    await this.#compiler.close()
  }

  #toolSetsOf(tenant: TenantShare): readonly ToolSet[] {
    const known = this.#toolSets.get(tenant)
    if (known !== undefined) return known
    const made = (tenant.mcpApis ?? []).map(api => toolSetOf(api, tenant.name))
    this.#toolSets.set(tenant, made)
    return made
  }
}

/** Addresses of APIs are chosen by tenants, so a secret must say where it may be sent. @throws Error for a secret that names no hosts */
async function readBound(references: ReferenceReader, namespace: string, ref: KeyReference) {
  const secret = await references.readSecret(namespace, ref)
  if (secret.hosts === undefined)
    throw new Error(
      `the key ${ref.key} of the secret ${ref.name} is not bound to hosts: add the key ${hostsKeyOf(ref.key)} with the hosts to which it may be sent`,
    )
  return secret
}

function isSame(a: readonly ToolSet[], b: readonly ToolSet[]): boolean {
  return a.length === b.length && JSON.stringify(a) === JSON.stringify(b)
}

function toolSetOf(api: McpApiShare, tenant: string): ToolSet {
  const { id, name, upstreamUrl, toolPrefix, traffic, mcp, trusted, acceptedSpecHash } = api
  const { header } = mcp.authentication
  return {
    name: id,
    namespace: `tenant-${tenant}`,
    displayName: name.slice(0, MAX_NAME_CHARS),
    source: {
      kind: 'mcp',
      url: upstreamUrl,
      transport: mcp.transport,
      session: mcp.session,
      ...(trusted === undefined ? {} : { trusted }),
      headers: {},
      ...(typeof header === 'string' ? { keyHeader: header } : {}),
      refreshIntervalMs: DEFAULT_MCP_REFRESH_MS,
      features: ['tools', 'resources', 'prompts'],
    },
    selector: {},
    toolDefaults: {
      ...DEFAULT_TOOL_DEFAULTS,
      timeoutMs: traffic?.timeoutMs ?? DEFAULT_TIMEOUT_MS,
      authentication: toAuthentication(mcp, tenant),
    },
    naming: { prefix: toolPrefix, suffix: '', useOperationId: true },
    enabled: true,
    apiId: id,
    ...(acceptedSpecHash === undefined ? {} : { acceptedSpecHash }),
  }
}

function toAuthentication({ authentication }: McpApiShare['mcp'], tenant: string): DeclaredAuthentication {
  const { type, clientAuthentication, scope, audience, resource } = authentication
  const { secret = null, tokenUrl = null, clientId = null } = authentication
  const texts = Object.entries({ scope, audience, resource }).filter(([, value]) => typeof value === 'string')
  const oauth: OAuthClient | undefined =
    tokenUrl === null || clientId === null
      ? undefined
      : { tokenUrl, clientId, clientAuthentication, ...Object.fromEntries(texts) }
  return {
    type,
    ...(secret === null ? {} : { secretRef: { name: secretOfTenant(tenant), key: secret } }),
    ...(oauth === undefined ? {} : { oauth }),
  }
}
