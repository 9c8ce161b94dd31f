/** Schemas of recorded calls and of the replies of gateways about them, and the check of a reply. */

import { parseJson } from '../../../base/json/parse-json.ts'
import { type FleetReply, MAX_FLEET_CALLS } from '../../../link/fleet-question.ts'
import { textField } from '../../../model/schema/fields.ts'
import { z } from '../../../model/schema/zod.ts'

const MAX_CONTENT = 900_000
const MAX_GROUPS = 200
const MAX_PARTS = 100
/** For the 1,152 of `model/latency-histogram.ts`, each with its calls. */
const MAX_BUCKETS = 2_304

const number = z.number().openapi({ example: 12.5 })
const word = z.string().max(2_000)

export const recordedCall = z
  .object({
    id: word.openapi({ example: '4f1c09aa-2s' }),
    at: word.openapi({ example: '2026-01-31T12:00:00.000Z' }),
    worker: z.int().openapi({ example: 1 }),
    action: word.openapi({ example: 'tools.call' }),
    access: word.openapi({ example: 'rest' }),
    tenant: word.nullable(),
    consumer: word.nullable(),
    tool: word.nullable(),
    toolset: word.nullable(),
    requested_tool: word.optional().openapi({
      description: 'Tool name that the caller sent; present only if this tool does not exist.',
    }),
    api: word.optional().openapi({ description: 'API to which the call was proxied.' }),
    kind: z.enum(['success', 'refused', 'failed']),
    outcome: word.openapi({ example: 'success' }),
    status: z.int().openapi({ example: 200 }),
    duration_ms: number,
    backend_ms: number.nullable(),
    cache_hit: z.boolean(),
    request_id: word,
    trace_id: word,
    decision_id: word.nullable(),
    snapshot: word,
    policy_revision: word.nullable(),
  })
  .openapi('RecordedCall')

const window = z.object({ calls: number, capacity: number, sinceMs: number.nullable() })
const buckets = z.array(number).max(MAX_BUCKETS)
/** Counts, and pairs of a latency bucket and its calls. */
const figures = z.object({ c: number, r: number, f: number, at: number, l: buckets, b: buckets })
const groups = z.array(z.tuple([word, figures])).max(MAX_GROUPS)

const worker = z.object({
  worker: z.int(),
  status: word,
  snapshot: word.nullable(),
  policy_revision: word,
})

/** Unknown fields of calls are ignored, because gateways may be newer. */
const content = z.object({
  calls: z.array(recordedCall).max(MAX_FLEET_CALLS).optional(),
  window: window.optional(),
  summary: z
    .object({
      total: figures,
      covered_from: number,
      covered_to: number.optional(),
      tools: groups,
      consumers: groups,
      refusals: groups,
      failures: groups,
      series: z.array(figures).max(MAX_PARTS),
      window,
    })
    .optional(),
  workers: z.array(worker).max(1_000).optional(),
})

export const fleetReply = z
  .strictObject({
    question_id: textField(64),
    content: textField(MAX_CONTENT).openapi({
      example: '{"calls":[],"window":{"calls":0,"capacity":10000,"sinceMs":null}}',
      description:
        'JSON text that contains the recorded calls, or a summary of the calls and the state of each worker thread.',
    }),
  })
  .openapi('FleetReply')

/** undefined: it is not a reply. */
export function readReply({
  question_id,
  content: text,
}: z.infer<typeof fleetReply>): FleetReply | undefined {
  const read = content.safeParse(parseJson(text))
  return read.success ? { question_id, ...read.data } : undefined
}
