/**
 * Routes and schemas of gateway instances, for operators and for the instances, and the policy subject of requests by instances.
 * The stream of an instance is in `http/snapshot-stream.ts`.
 */
import { mayBeConsumer } from '../../../link/report.ts'
import {
  GATEWAY_STATUSES,
  type GatewayInstance,
  gatewayStatus,
  OFFLINE_AFTER_MS,
  REPORTED_STATUSES,
} from '../../../model/gateway-instance.ts'
import { reachesEveryTenant } from '../../../model/principal.ts'
import { calendarDay, count, moment, textField, word } from '../../../model/schema/fields.ts'
import { camelCased, toModel, toWire } from '../../../model/schema/names.ts'
import { z } from '../../../model/schema/zod.ts'
import { CHANGE_WORDS, CHANGED_KINDS } from '../../publisher/resource-changes.ts'
import { EVERY_TENANT } from '../../store/store.ts'
import { type Endpoint, endpointsTagged, type Subject, type SubjectQuestion } from '../http/endpoint.ts'
import { conflict, requireFound } from '../http/problem.ts'
import { pendingDefinitions, specHash } from '../schemas/definitions.ts'
import {
  envelope,
  listOf,
  pageQuery,
  q,
  shownId,
  shownMoment,
  sortQuery,
  wordQuery,
} from '../schemas/fields.ts'

const endpoint = endpointsTagged('gateway')
const MAX_ROWS = 10_000

const authConfig = z.strictObject({
  issuer: textField(500).optional(),
  audiences: z.array(textField(500)).max(50).optional(),
})

const shownGateway = z
  .object({
    id: shownId('gw'),
    name: z.string(),
    status: z.enum(GATEWAY_STATUSES),
    version: z.string(),
    url: z.string(),
    snapshot_version: z.string().nullable(),
    workers: z.int(),
    last_seen_at: shownMoment,
    auth_config: authConfig,
    error: z.string().nullable().openapi({
      description: 'Reason that the gateway reported for not serving the newest snapshot; null: no error.',
    }),
    created_at: shownMoment,
    updated_at: shownMoment,
  })
  .openapi('Gateway')

const MAX_SHOWN_RESOURCES = 500

const shownDifference = z
  .object({
    from: z.string().nullable().openapi({
      description:
        'Version of the snapshot that the gateway serves; null: the gateway does not serve a snapshot.',
    }),
    to: z.string().openapi({ description: 'Newest published version of the snapshot.' }),
    since: shownMoment.nullable().openapi({
      description: 'Time at which the gateway last acknowledged a snapshot version; null: never.',
    }),
    versions: z.int().nullable().openapi({
      description:
        'Number of versions published after `from`; null: `from` is null or too old for a comparison.',
    }),
    plans: z.boolean().nullable().openapi({
      description: 'Whether global plans differ between `from` and `to`.',
    }),
    tenants: z
      .array(z.object({ id: z.string(), name: z.string().nullable() }))
      .nullable()
      .openapi({
        description:
          'Tenants whose configuration differs between `from` and `to`; a caller who acts for one tenant sees only that tenant. `name` is null for a tenant that the newest version does not contain.',
      }),
    resources: z
      .array(
        z.object({
          tenant_id: z.string(),
          kind: z.enum(CHANGED_KINDS),
          id: z.string(),
          name: z.string().openapi({
            description:
              'Path of an API, application of a subscription, prefix of a key, subject of a consumer, or name of a resource of another kind.',
          }),
          change: z.enum(CHANGE_WORDS),
        }),
      )
      .nullable()
      .openapi({
        description: `Resources that differ between \`from\` and \`to\` and belong to a tenant in \`tenants\`, at most ${MAX_SHOWN_RESOURCES}; null: the differences are not known, or are too many to list.`,
      }),
  })
  .openapi('GatewayDifference')

function show(gateway: GatewayInstance, now: Date) {
  return toWire(shownGateway, { ...gateway, status: gatewayStatus(gateway, now), error: gateway.lastError })
}

/** How an instance introduces itself; in the query, because the stream is a GET. */
export const helloQuery = z.object({
  name: textField(100).openapi({ example: 'edge-1' }),
  url: textField(2048, 0).default(''),
  version: textField(50, 0).default(''),
  workers: z
    .string()
    .regex(/^[0-9]{1,4}$/, 'must be a whole number from 0 to 9999.')
    .transform(Number)
    .default(1)
    .openapi({ type: 'integer', minimum: 0, maximum: 9999, default: 1 }),
  issuer: textField(500).optional(),
  audiences: textField(2000).optional().openapi({ description: 'Comma-separated.' }),
  from: textField(64).optional().openapi({
    description: 'Version that the gateway serves; the header `Last-Event-ID` takes precedence.',
  }),
})

const report = z
  .strictObject({
    status: word(REPORTED_STATUSES).default('online'),
    snapshot_version: textField(64).nullable().default(null),
    error: textField(2000).nullable().default(null),
    workers: count(0, 9999).default(1),
    resync: textField(64).nullable().default(null).openapi({
      description:
        'Id of the last re-synchronization that the gateway completed. The `begin` event contains this id in `resync`.',
    }),
    sequence: z.int('must be an integer.').min(1, 'must be at least 1.').openapi({
      description:
        'Sequence number of the counts in `usage`, `keys_used` and `consumers_seen`. The control plane ignores these counts unless the number is greater than in all earlier reports. Begin with the `sequence` of the `hello` event plus 1, and add 1 for each report with new counts. Repeat a failed report with the same number.',
    }),
    usage: z
      .array(
        z.strictObject({
          subscription_id: textField(100),
          day: calendarDay(2000, 2099),
          requests: count(0),
          errors: count(0),
          last_request_at: moment(),
        }),
      )
      .max(MAX_ROWS)
      .default([]),
    keys_used: z
      .array(z.strictObject({ key_id: textField(100), at: moment() }))
      .max(MAX_ROWS)
      .default([]),
    admin_actions: z
      .array(
        z.strictObject({
          id: textField(64),
          at: moment(),
          actor: z.strictObject({
            kind: z.enum(['token', 'api_key', 'anonymous', 'system']),
            subject: z.string().max(1024),
            consumer: z.string().max(1024),
            tenant: z.string().max(1024).nullable(),
          }),
          action: textField(100),
          tenant: textField(100).nullable(),
          resource: z.strictObject({ type: textField(100), id: textField(1024) }),
          request_id: textField(128),
          before: z.record(z.string(), z.unknown()).nullable(),
        }),
      )
      .max(MAX_ROWS)
      .default([])
      .openapi({
        description:
          'Actions that administrators performed on the gateway. The control plane adds them to the audit records. It ignores an action whose id is already recorded.',
      }),
    definitions: z
      .array(
        z.strictObject({
          api_id: textField(100),
          spec_hash: specHash,
          pending: pendingDefinitions.strict().nullable(),
        }),
      )
      .max(MAX_ROWS)
      .default([])
      .openapi({
        description:
          'For APIs of type `mcp`, the list of definitions that the gateway serves, and the changes that wait; only those that are different from the last report.',
      }),
    consumers_seen: z
      // of any length: a subject that is not a known consumer is left out, and does not end the reports of the gateway
      .array(z.strictObject({ tenant_id: textField(100), subject: z.string(), at: moment() }))
      .max(MAX_ROWS)
      .default([]),
  })
  .openapi('GatewayReport')

/** A snapshot holds the key digests of every tenant: a caller that belongs to a tenant and may not cross tenants is refused. */
export async function everyTenant({
  principal,
  crossesTenants,
}: Pick<SubjectQuestion, 'principal' | 'crossesTenants'>): Promise<Subject> {
  return { tenant: principal.tenant === undefined || crossesTenants ? null : EVERY_TENANT }
}

export const gatewayEndpoints: readonly Endpoint[] = [
  endpoint('listGateways', 'get', '/gateways', {
    summary: 'List the gateway instances',
    action: 'control.gateways.list',
    reach: 'platform',
    query: z.object({
      ...pageQuery,
      sort: sortQuery('name', 'last_seen_at'),
      q,
      status: wordQuery(GATEWAY_STATUSES),
    }),
    success: {
      status: 200,
      description: 'A page of gateway instances',
      schema: listOf(shownGateway, 'GatewayList'),
    },
    async run({ tx, query }) {
      const listed = await tx.gateways.list(query, query)
      return { body: envelope(listed, query, gateway => show(gateway, tx.now)) }
    },
  }),
  endpoint('readSnapshot', 'get', '/gateways/snapshot', {
    summary: 'Poll for the snapshot while the stream is interrupted',
    action: 'control.gateways.connect',
    reach: 'platform',
    query: z.object({ from: textField(64).optional() }),
    success: {
      description:
        'The update from the version `from` to the newest version; null when `from` is the newest version',
      schema: z.unknown().openapi('SnapshotUpdate', { type: ['object', 'null'] }),
    },
    subject: everyTenant,
    async run({ query, services }) {
      return { body: services.fleet.poll(query.from ?? null) }
    },
  }),
  endpoint('readGateway', 'get', '/gateways/{gateway_id}', {
    summary: 'Read a gateway instance',
    action: 'control.gateways.read',
    reach: 'platform',
    success: { status: 200, description: 'The gateway instance', schema: shownGateway },
    async run({ tx, params }) {
      const gateway = requireFound(await tx.gateways.find(params.gateway_id!), 'gateway')
      return { body: show(gateway, tx.now) }
    },
  }),
  endpoint('readGatewayDifference', 'get', '/gateways/{gateway_id}/difference', {
    summary: 'Read the differences between the newest snapshot and the snapshot of a gateway instance',
    action: 'control.gateways.read',
    reach: 'platform',
    success: { status: 200, description: 'The differences', schema: shownDifference },
    async run({ tx, params, services, principal, tenant }) {
      const gateway = requireFound(await tx.gateways.find(params.gateway_id!), 'gateway')
      const { publisher } = services
      const from = gateway.snapshotVersion
      const changes = from === null ? undefined : publisher.changesSince(from)
      const mayShow = (id: string): boolean =>
        tenant === undefined ? reachesEveryTenant(principal) : tenant.id === id
      return {
        body: {
          from,
          to: publisher.share.version,
          since: gateway.lastAckAt?.toISOString() ?? null,
          versions: changes?.versions ?? null,
          plans: changes?.plans ?? null,
          tenants:
            changes === undefined
              ? null
              : [...changes.tenants].filter(mayShow).map(id => ({
                  id,
                  name: publisher.share.tenants.get(id)?.name ?? null,
                })),
          resources:
            changes?.resources
              ?.filter(({ tenantId }) => mayShow(tenantId))
              .slice(0, MAX_SHOWN_RESOURCES)
              .map(({ tenantId, ...change }) => ({ tenant_id: tenantId, ...change })) ?? null,
        },
      }
    },
  }),
  endpoint('deleteGateway', 'delete', '/gateways/{gateway_id}', {
    summary: 'Remove an offline gateway instance, with its deployments',
    action: 'control.gateways.delete',
    reach: 'platform',
    success: { description: 'The gateway instance is removed; it appears again when it connects' },
    async run({ tx, params }) {
      const gateway = requireFound(await tx.gateways.find(params.gateway_id!, 'exclusive'), 'gateway')
      const status = gatewayStatus(gateway, tx.now)
      if (status !== 'offline')
        throw conflict(
          `You can remove a gateway only while it is offline, but it is ${status}. Stop the gateway, wait ${OFFLINE_AFTER_MS / 1000} s until it is offline, and repeat the request.`,
        )
      await tx.gateways.remove(gateway.id)
    },
  }),
  endpoint('reportGateway', 'post', '/gateways/{gateway_id}/reports', {
    summary: 'Acknowledge or refuse a snapshot, send a heartbeat, or report usage',
    action: 'control.gateways.connect',
    reach: 'platform',
    body: report,
    idempotencyKey: false,
    audited: false,
    success: { status: 204, description: 'The report is stored' },
    subject: everyTenant,
    async run({ tx, params, body, services }) {
      await services.fleet.report(tx, params.gateway_id!, {
        ...camelCased(body),
        usage: body.usage.map(row => ({ ...camelCased(row), lastRequestAt: new Date(row.last_request_at) })),
        keysUsed: body.keys_used.map(row => ({ id: row.key_id, at: new Date(row.at) })),
        adminActions: body.admin_actions.map(({ request_id, ...action }) => ({
          ...action,
          at: new Date(action.at),
          requestId: request_id,
        })),
        definitions: toModel(report, body).definitions,
        consumersSeen: body.consumers_seen
          .filter(({ subject }) => mayBeConsumer(subject))
          .map(row => ({ ...camelCased(row), at: new Date(row.at) })),
      })
    },
  }),
]
