/** Records changes of resources and other actions for the audit. */
import { createHash } from 'node:crypto'
import { snakeCase } from '../../base/snake-case.ts'
import type { AuditOrigin } from '../../model/audit.ts'
import { newId } from '../../model/id.ts'
import { maskAddresses } from './masked-addresses.ts'
import { EVERY_TENANT, type Transaction } from './store.ts'

/** A resource as its repository reads and writes it. */
interface Resource {
  readonly id: string
  readonly tenantId?: string | null
}

interface Rows {
  insert?(row: Resource, ...more: unknown[]): Promise<void>
  find?(id: string, ...more: unknown[]): Promise<Resource | undefined>
  update?(row: Resource, ...more: unknown[]): Promise<Resource>
  remove?(id: string): Promise<void>
}

/** Repository → type of its resources. Uses of keys, consumers that appear by themselves and reports of gateways are not changes of an actor. */
const AUDITED = {
  tenants: 'tenant',
  apis: 'api',
  plans: 'plan',
  products: 'product',
  subscriptions: 'subscription',
  keys: 'api_key',
  consumers: 'consumer',
  webhooks: 'webhook',
} as const satisfies Partial<Record<keyof Transaction, string>>

/** Digests of keys are of no use to a reader. */
const OMITTED: ReadonlySet<string> = new Set(['hash', 'previousHash'])
/** Longer texts are replaced by their length and digest. */
const MAX_TEXT = 2048

export function recordActions(tx: Transaction, origin: AuditOrigin): Transaction {
  const wrapped = Object.entries(AUDITED).map(([name, type]) => [
    name,
    recordRows(tx, origin, tx[name as keyof typeof AUDITED] as unknown as Rows, type),
  ])
  return {
    ...tx,
    audit: tx.audit,
    within: tenantId => recordActions(tx.within(tenantId), origin),
    ...Object.fromEntries(wrapped),
  }
}

/** What is known of an action beyond its origin. */
export interface ActionRecord {
  /** Absent: as the address says. */
  readonly id?: string
  readonly before?: object | undefined
  readonly after?: object | undefined
}

/** Records an action that changes no resource of the database, such as a repeated delivery. */
export function recordAction(
  tx: Transaction,
  origin: AuditOrigin,
  resource: Change['resource'],
  { id = resource.id, before, after }: ActionRecord = {},
): void {
  append(tx, origin, { resource: { ...resource, id }, before, after })
}

interface Change {
  readonly resource: { readonly type: string; readonly id: string; readonly tenantId: string | null }
  readonly before: object | undefined
  readonly after: object | undefined
}

function append(tx: Transaction, origin: AuditOrigin, { resource, before, after }: Change): void {
  tx.audit.append({
    ...origin,
    id: newId('audit', tx.now.getTime()),
    at: tx.now,
    tenantId: resource.tenantId,
    resourceType: resource.type,
    resourceId: resource.id,
    before: before === undefined ? null : JSON.stringify(showResource(before)),
    after: after === undefined ? null : JSON.stringify(showResource(after)),
  })
}

/** The methods of a repository, of which those that write record what they do. */
function recordRows(tx: Transaction, origin: AuditOrigin, rows: Rows, type: string): Rows {
  /** As read in this transaction: what a change replaces. */
  const read = new Map<string, Resource>()
  const before = async (id: string): Promise<Resource | undefined> => read.get(id) ?? rows.find?.(id)
  const record = (id: string, old: Resource | undefined, after: Resource | undefined): void => {
    const owner = (after ?? old)?.tenantId
    const tenantId = type === 'tenant' ? id : (owner ?? (tx.scope === EVERY_TENANT ? null : tx.scope))
    append(tx, origin, { resource: { type, id, tenantId }, before: old, after })
    if (after === undefined) read.delete(id)
    else read.set(id, after)
  }
  return {
    ...rows,
    ...(rows.find && {
      async find(id: string, ...more: unknown[]) {
        const found = await rows.find!(id, ...more)
        if (found !== undefined) read.set(id, found)
        return found
      },
    }),
    ...(rows.insert && {
      async insert(row: Resource, ...more: unknown[]) {
        await rows.insert!(row, ...more)
        record(row.id, undefined, row)
      },
    }),
    ...(rows.update && {
      async update(row: Resource, ...more: unknown[]) {
        const old = await before(row.id)
        const updated = await rows.update!(row, ...more)
        record(row.id, old, updated)
        return updated
      },
    }),
    ...(rows.remove && {
      async remove(id: string) {
        const old = await before(id)
        await rows.remove!(id)
        record(id, old, undefined)
      },
    }),
  }
}

/** A resource under the names of the API, without secrets. */
function showResource(resource: object): object {
  const fields = Object.entries(resource)
    .filter(([name]) => !OMITTED.has(name))
    .map(([name, value]) => [
      snakeCase(name),
      typeof value === 'string' && value.length > MAX_TEXT ? digestOf(value) : maskValue(name, value),
    ])
  return maskAddresses(Object.fromEntries(fields))
}

/** Values of custom headers are secrets; a repository masks them when it reads, not when it writes. */
function maskValue(name: string, value: unknown): unknown {
  if (name !== 'customHeaders' || typeof value !== 'object' || value === null) return value
  return Object.keys(value)
}

function digestOf(text: string): object {
  return { characters: text.length, sha256: createHash('sha256').update(text).digest('hex') }
}
