/** Routes and schemas of calls that gateways have recorded, and the route for the replies of gateways. `services/fleet-calls.ts` merges the replies. */
import { MAX_FLEET_CALLS } from '../../../link/fleet-question.ts'
import { textField } from '../../../model/schema/fields.ts'
import { z } from '../../../model/schema/zod.ts'
import { type Endpoint, type EndpointCall, endpointsTagged } from '../http/endpoint.ts'
import { invalidField, requireFound, unavailable } from '../http/problem.ts'
import { presetNumber, queryNumber, shownId, shownMoment } from '../schemas/fields.ts'
import { fleetReply, readReply, recordedCall } from '../schemas/fleet-reply.ts'
import { type AskedGateway, mergedCalls, mergedOverview, mergedTools } from '../services/fleet-calls.ts'
import { everyTenant } from './gateways.ts'

const endpoint = endpointsTagged('call')
const SERIES = 30
/** Times are rounded up to it, so that consoles that look at the same moment share a question. */
const ROUND_MS = 500

const shownGateway = z
  .object({
    id: shownId('gw'),
    name: z.string(),
    status: z.enum(['replied', 'no_reply']).openapi({
      description:
        '`no_reply`: the gateway sent no usable reply, so this response does not contain its calls.',
    }),
    calls: z.int().nullable().openapi({
      description: 'Number of recorded calls that the gateway stores; null: the gateway did not reply.',
    }),
    since: shownMoment.nullable().openapi({
      description:
        'Time at which the gateway received its oldest recorded call; null: no recorded calls, or no reply.',
    }),
    workers: z
      .array(
        z.object({
          worker: z.int(),
          status: z.string(),
          snapshot: z.string().nullable(),
          policy_revision: z.string(),
        }),
      )
      .nullable()
      .openapi({
        description:
          'Worker threads of the gateway, each with its snapshot and policy revision; null if the gateway did not reply, or if the request acts for one tenant.',
      }),
  })
  .openapi('FleetGateway')
const gateways = z.array(shownGateway)
const complete = z.boolean().openapi({ description: 'Whether every gateway in `gateways` has replied.' })

const figures = {
  calls: z.int(),
  refused: z.int(),
  errors: z.int(),
  p50_ms: z.number().nullable(),
  p99_ms: z.number().nullable(),
  backend_p50_ms: z.number().nullable(),
  last_call_at: shownMoment.nullable(),
}
const quantiles = { p50_ms: z.number().nullable(), p99_ms: z.number().nullable() }
const windowQuery = { window_s: presetNumber(10, 3600, 60) }

const overview = z
  .object({
    at: shownMoment,
    window_s: z.int(),
    covered_s: z.number().openapi({
      description: 'Length in seconds of the period that the recorded calls cover, at most `window_s`.',
    }),
    calls: z.int(),
    success: z.int(),
    refused: z.int(),
    failed: z.int(),
    rates: z
      .object({ calls: z.number(), success: z.number(), refused: z.number(), failed: z.number() })
      .openapi({ description: 'Calls per second.' }),
    latency: z.object({ ...quantiles, p90_ms: z.number().nullable() }),
    backend: z.object(quantiles),
    refusals: z.array(
      z.object({
        reason: z.string(),
        calls: z.int(),
        consumers: z.array(
          z.object({ tenant: z.string().nullable(), consumer: z.string().nullable(), calls: z.int() }),
        ),
      }),
    ),
    failures: z.array(
      z.object({
        reason: z.string(),
        calls: z.int(),
        tools: z.array(z.object({ tool: z.string().nullable(), calls: z.int() })),
      }),
    ),
    slowest: z.array(z.object({ tool: z.string(), ...figures })),
    consumers: z.array(z.object({ tenant: z.string().nullable(), consumer: z.string(), ...figures })),
    series: z.array(z.object({ at: shownMoment, ...figures })),
    consistent: z.boolean().nullable().openapi({
      description:
        'Whether all worker threads of the gateways that replied serve the same snapshot and policy revision; null if the request acts for one tenant.',
    }),
    gateways,
    complete,
  })
  .openapi('FleetOverview')

interface Asked {
  readonly tenant: string | null
  readonly gateways: readonly AskedGateway[]
}

/** Whom a question goes to, and the tenant that it is limited to. */
async function askedBy({
  tx,
  tenant,
}: Pick<EndpointCall<unknown, unknown>, 'tx' | 'tenant'>): Promise<Asked> {
  const live = await tx.gateways.live()
  return {
    tenant: tenant?.name ?? null,
    gateways: live.map(({ id, name }) => ({ id, name })).sort((a, b) => (a.name < b.name ? -1 : 1)),
  }
}

function tooMany() {
  return unavailable('Too many requests wait for replies from the gateways. Repeat the request later.', 1)
}

/** For the calls before now, whose figures are merged from all gateways. */
async function summaries(
  { services }: Pick<EndpointCall<unknown, unknown>, 'services'>,
  { tenant, gateways }: Asked,
  windowMs: number | undefined,
  parts: number,
) {
  const toMs = Math.ceil((Date.now() + 1) / ROUND_MS) * ROUND_MS
  const fromMs = windowMs === undefined ? 0 : toMs - windowMs
  const question = { kind: 'summary' as const, tenant, fromMs, toMs, parts }
  const ids = gateways.map(({ id }) => id)
  const replies = await services.fleet.questions.ask(question, ids)
  if (replies === undefined) throw tooMany()
  return { question, replies }
}

export const fleetCallEndpoints: readonly Endpoint[] = [
  endpoint('listFleetCalls', 'get', '/fleet/calls', {
    summary: 'List the latest calls that all connected gateways have recorded, the newest first',
    action: 'control.calls.read',
    reach: 'caller',
    query: z.object({
      consumer: textField(200).optional(),
      tool: textField(200).optional(),
      outcome: textField(200).optional().openapi({
        description:
          'A kind of outcome (`success`, `refused` or `failed`), or one outcome such as `backend_timeout`.',
      }),
      request_id: textField(128).optional(),
      min_ms: queryNumber(0, 1_000_000_000).optional(),
      limit: presetNumber(1, MAX_FLEET_CALLS, 100),
    }),
    success: {
      description: 'The recorded calls, and whether each gateway replied',
      schema: z
        .object({
          calls: z.array(
            recordedCall.extend({ gateway: z.string().openapi({ description: 'Name of the gateway.' }) }),
          ),
          gateways,
          complete,
        })
        .openapi('FleetCalls'),
    },
    async run(call) {
      const { services, query } = call
      const { limit, request_id: requestId, min_ms: minMs, ...filters } = query
      const asked = await askedBy(call)
      const given = Object.entries({ ...filters, requestId, minMs }).filter(
        ([, value]) => value !== undefined,
      )
      const question = {
        kind: 'calls' as const,
        tenant: asked.tenant,
        filters: Object.fromEntries(given),
        limit,
      }
      return {
        async afterwards() {
          const ids = asked.gateways.map(({ id }) => id)
          const replies = await services.fleet.questions.ask(question, ids)
          if (replies === undefined) throw tooMany()
          return mergedCalls(question, replies, asked.gateways)
        },
      }
    },
  }),
  endpoint('readFleetOverview', 'get', '/fleet/overview', {
    summary: 'Read the rates, latencies, refusals and failures of recorded calls on all connected gateways',
    action: 'control.calls.read',
    reach: 'caller',
    query: z.object(windowQuery),
    success: { description: 'The overview, and whether each gateway replied', schema: overview },
    async run(call) {
      const asked = await askedBy(call)
      return {
        async afterwards() {
          const { question, replies } = await summaries(call, asked, call.query.window_s * 1000, SERIES)
          return mergedOverview(question, replies, asked.gateways)
        },
      }
    },
  }),
  endpoint('listFleetTools', 'get', '/fleet/tools', {
    summary:
      'List the tools that have recorded calls, with counts and latencies across all connected gateways',
    action: 'control.calls.read',
    reach: 'caller',
    success: {
      description: 'The tools, the most called first, and whether each gateway replied',
      schema: z
        .object({
          tools: z.array(z.object({ toolset: z.string(), tool: z.string(), ...figures })),
          gateways,
          complete,
        })
        .openapi('FleetTools'),
    },
    async run(call) {
      const asked = await askedBy(call)
      return {
        async afterwards() {
          const { question, replies } = await summaries(call, asked, undefined, 0)
          return mergedTools(question, replies, asked.gateways)
        },
      }
    },
  }),
  endpoint('replyToQuestion', 'post', '/gateways/{gateway_id}/replies', {
    summary: 'Reply to a `question` event of the snapshot stream',
    action: 'control.gateways.connect',
    reach: 'platform',
    body: fleetReply,
    idempotencyKey: false,
    audited: false,
    success: {
      status: 204,
      description: 'The control plane accepted the reply, or ignored it because the question has ended',
    },
    subject: everyTenant,
    async run({ tx, params, body, services }) {
      const { id } = requireFound(await tx.gateways.find(params.gateway_id!), 'gateway')
      const reply = readReply(body)
      if (reply === undefined)
        throw invalidField('content', 'must be the JSON text of an object with `calls` or `summary`.')
      return {
        async afterwards() {
          await services.fleet.questions.take(id, reply)
        },
      }
    },
  }),
]
