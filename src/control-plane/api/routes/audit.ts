/** Routes and schemas of audit records, as lists and exports. */
import type { AuditRecord } from '../../../model/audit.ts'
import { moment, textField } from '../../../model/schema/fields.ts'
import { z } from '../../../model/schema/zod.ts'
import type { AuditFilter } from '../../store/audit-repository.ts'
import { maskAddresses } from '../../store/masked-addresses.ts'
import type { Transaction } from '../../store/store.ts'
import { type Endpoint, endpointsTagged, NDJSON } from '../http/endpoint.ts'
import {
  pageQuery,
  presetNumber,
  q,
  queryNumber,
  shownId,
  shownMoment,
  wordQuery,
} from '../schemas/fields.ts'

const endpoint = endpointsTagged('audit record')
const MAX_EXPORTED = 10_000
/** Below the largest exact integer. */
const MAX_SEQ = 999_999_999

const shownRecord = z
  .object({
    id: shownId('aud'),
    seq: z.int().openapi({
      description: 'Position of the record in the hash chain. Positions are consecutive integers.',
    }),
    at: shownMoment,
    actor: z.object({
      kind: z.enum(['token', 'api_key', 'anonymous', 'system']),
      subject: z.string(),
      consumer: z.string(),
      tenant: z.string().nullable(),
    }),
    action: z.string().openapi({ example: 'control.plans.update' }),
    tenant_id: z.string().nullable(),
    resource: z.object({ type: z.string(), id: z.string() }),
    request_id: z.string(),
    gateway: z.string().nullable().openapi({
      description: 'Name of the gateway that reported the action; null: no gateway reported the action.',
    }),
    before: z.record(z.string(), z.unknown()).nullable(),
    after: z.record(z.string(), z.unknown()).nullable(),
    hash: z.string().openapi({
      description: 'SHA-256 over the hash of the previous record and the content of this record.',
    }),
  })
  .openapi('AuditRecord')

const filters = {
  q,
  tenant_id: textField(100).optional(),
  actor: textField(255).optional().openapi({
    description: 'Subject or consumer of the actor who performed the action.',
  }),
  action: textField(100).optional(),
  resource_type: textField(100).optional(),
  resource_id: textField(255).optional(),
  request_id: textField(128).optional(),
  since: moment().optional(),
  until: moment().optional(),
}
type Filters = { readonly [Name in keyof typeof filters]?: string | undefined }

export const auditEndpoints: readonly Endpoint[] = [
  endpoint('listAuditRecords', 'get', '/audit', {
    summary: 'List the audit records, by default the newest first',
    action: 'control.audit.read',
    reach: 'caller',
    query: z.object({
      ...filters,
      format: pageQuery.format,
      sort: wordQuery(['at', '-at']).openapi({
        description: '`at`: the oldest first; `-at`, the default: the newest first.',
      }),
      limit: presetNumber(1, 100, 20),
      cursor: seqQuery('`next_cursor` of the previous page.'),
    }),
    success: {
      description: 'A page of audit records',
      schema: z
        .object({ items: z.array(shownRecord), next_cursor: z.string().nullable() })
        .openapi('AuditRecordList'),
    },
    async run({ tx, query: { limit, cursor, sort, format, ...query } }) {
      // positions begin with 1
      const from = sort === 'at' ? { after: cursor ?? 0 } : { before: cursor }
      const rows = await tx.audit.list(await filterOf(tx, query), from, limit + 1)
      const items = rows.slice(0, limit)
      const next = rows.length > limit ? String(items.at(-1)!.seq) : null
      const page = { items: items.map(show), next_cursor: next }
      // an export is refused when there are more than it may have
      return { body: format === undefined || format === 'json' ? page : { ...page, total: rows.length } }
    },
  }),
  endpoint('exportAuditRecords', 'get', '/audit/export', {
    summary: `Export at most ${MAX_EXPORTED} audit records as NDJSON, the oldest first`,
    action: 'control.audit.read',
    reach: 'caller',
    query: z.object({
      ...filters,
      limit: presetNumber(1, MAX_EXPORTED, MAX_EXPORTED),
      after: seqQuery('`seq` of the last record in the previous export.'),
    }),
    success: {
      description: 'One record on each line; the body is empty when no record matches',
      schema: z.string(),
      mediaType: NDJSON,
    },
    async run({ tx, query: { limit, after = 0, ...query } }) {
      const rows = await tx.audit.list(await filterOf(tx, query), { after }, limit)
      return { text: rows.map(row => `${JSON.stringify(show(row))}\n`).join(''), contentType: NDJSON }
    },
  }),
]

function seqQuery(description: string) {
  return queryNumber(0, MAX_SEQ).optional().openapi({ description })
}

/** @param query its tenant by id or name */
async function filterOf(
  tx: Transaction,
  { q, tenant_id, actor, action, resource_type, resource_id, request_id, since, until }: Filters,
): Promise<AuditFilter> {
  const tenant = tenant_id === undefined ? undefined : await tx.tenants.resolve(tenant_id)
  return {
    // records of a tenant that was deleted are found by its id
    tenantId: tenant?.id ?? tenant_id,
    q,
    actor,
    action,
    resourceType: resource_type,
    resourceId: resource_id,
    requestId: request_id,
    since: since === undefined ? undefined : new Date(since),
    until: until === undefined ? undefined : new Date(until),
  }
}

function show(record: AuditRecord) {
  const { id, seq, at, actor, action, tenantId, resourceType, resourceId, requestId, gateway, hash } = record
  return {
    id,
    seq,
    at: at.toISOString(),
    actor,
    action,
    tenant_id: tenantId,
    resource: { type: resourceType, id: resourceId },
    request_id: requestId,
    gateway,
    before: valuesOf(record.before),
    after: valuesOf(record.after),
    hash,
  }
}

/** Earlier versions stored whole addresses, and the chain protects those records from a change. */
function valuesOf(json: string | null): object | null {
  return json === null ? null : maskAddresses(JSON.parse(json))
}
