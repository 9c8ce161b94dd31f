/** `POST /test/clock {advance: "1h"}`, mounted with TEST_HOOKS=1 only (contract §1). It is no part of the API and of no document. */
import type { Hono } from 'hono'
import { life } from '../schemas/fields.ts'
import { z } from '../schemas/zod.ts'
import { invalid } from './problem.ts'
import { readBody } from './read-body.ts'
import { validate } from './validate.ts'

const body = z.strictObject({ advance: life() })
const MAX_BYTES = 1_000

/** @param settle runs what the passing of time brings about, before the answer */
export function mountTestClock(
  app: Hono,
  advance: (ms: number) => void,
  now: () => number,
  settle: () => Promise<void>,
): void {
  app.post('/test/clock', async context => {
    const read = await readBody(context.req.raw, MAX_BYTES)
    const checked = validate(body, read.kind === 'json' ? read.value : {}, 'body')
    if (!checked.ok) throw invalid(checked.faults)
    advance(checked.value.advance * 1000)
    await settle()
    return context.json({ now: new Date(now()).toISOString() })
  })
}
