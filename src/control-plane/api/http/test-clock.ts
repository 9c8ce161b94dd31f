/** The route `POST /test/clock`, which advances the clock in tests. It is not part of the OpenAPI document. */
import type { Hono } from 'hono'
import { life } from '../../../model/schema/fields.ts'
import { z } from '../../../model/schema/zod.ts'
import { invalid } from './problem.ts'
import { readJsonBody } from './read-body.ts'
import { validateInput } from './validate.ts'

const body = z.strictObject({ advance: life() })
const MAX_BYTES = 1_000

/** @param settle runs the work that depends on time, before the response */
export function mountTestClock(
  app: Hono,
  advance: (ms: number) => void,
  now: () => number,
  settle: () => Promise<void>,
): void {
  app.post('/test/clock', async context => {
    const read = await readJsonBody(context.req.raw, MAX_BYTES)
    const checked = validateInput(body, read.kind === 'json' ? read.value : {}, 'body')
    if (!checked.ok) throw invalid(checked.faults)
    advance(checked.value.advance * 1000)
    await settle()
    return context.json({ now: new Date(now()).toISOString() })
  })
}
