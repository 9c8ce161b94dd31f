/** The how-to pages, followed to the letter: what they show passes every check and decides what they say. `how-to-ask.test.ts` has the one on questions. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { readJson } from '../../../src/base/json/exact-number.ts'
import type { Decision } from '../../../src/policy/engine.ts'
import { createOpaWasmEngine } from '../../../src/policy/opa-wasm/engine.ts'
import { OPA_VERSION } from '../../../src/policy/workshop/opa.ts'
import { Author, opa, POLICIES, regal } from '../../fixtures/policy/author.ts'
import { type InputParts, inputOf } from '../../fixtures/policy/inputs.ts'

const missing = (opa === undefined || regal === undefined) && process.env.REQUIRE_SERVICES !== '1'

describe.skipIf(missing)(
  `with opa ${OPA_VERSION} and regal (npm run policy:test installs them)`,
  { timeout: 60_000 },
  () => {
    let author: Author
    beforeEach(() => {
      if (opa === undefined || regal === undefined) throw new Error('opa or regal is not in .tools/bin')
      author = new Author()
    })
    afterEach(() => author?.leave())

    /** Builds what the author has, and asks it. */
    async function built(): Promise<{
      ask: (parts: InputParts) => Promise<Decision>
      cacheable: boolean
    }> {
      const { archive, cacheable } = await author.build()
      const policy = await createOpaWasmEngine({ maxEvaluationMs: 500 }).prepare(archive)
      return {
        cacheable,
        ask: async parts => policy.decide(inputOf(parts), JSON.stringify(parts.caller ?? {}), 1),
      }
    }

    it('add a role: it brings its scopes', async () => {
      const page = readFileSync(join(POLICIES, 'how-to/add-a-role.md'), 'utf8')
      const line = /```yaml\n(support: .*)\n```/.exec(page)![1]!
      author.edit('toolgate/roles/data.yaml', 'viewer:', `${line}\nviewer:`)
      expect(await author.faults()).toEqual([])
      const { ask } = await built()
      const asked = { action: 'control.metrics.read', caller: { roles: ['support'], scopes: [] } }
      expect(await ask(asked)).toMatchObject({ allow: true })
    })

    it('restrict a tool: it is restricted, and the decision cached', async () => {
      author.follow('restrict-a-tool')
      expect(await author.faults()).toEqual([])
      const { ask, cacheable } = await built()
      expect(cacheable).toBe(true)
      const payroll = { resource: { tags: ['payroll'] } }
      expect(await ask(payroll)).toMatchObject({ allow: false, reasons: [{ code: 'payroll_only' }] })
      expect(await ask({ ...payroll, caller: { roles: ['hr'] } })).toMatchObject({ allow: true })
      expect(await ask({})).toMatchObject({ allow: true })
    })

    it('limit by argument: limited when called, and the tool still listed', async () => {
      author.follow('limit-by-argument')
      expect(await author.faults()).toEqual([])
      const { ask, cacheable } = await built()
      expect(cacheable).toBe(false)
      const refund = (amount?: unknown) =>
        ask({ id: 'refund_order', context: amount === undefined ? {} : { arguments: { amount } } })
      expect(await refund(501)).toMatchObject({ allow: false, reasons: [{ code: 'refund_too_large' }] })
      expect(await refund(500)).toMatchObject({ allow: true })
      expect(await refund()).toMatchObject({ allow: true })
      // digits beyond a double count
      for (const more of ['500.00000000000000000001', '12345678901234567890', '1e400'])
        expect(await refund(readJson(more)), more).toMatchObject({ allow: false })
      for (const less of ['499.99999999999999999999', '-1e400', '1e-400'])
        expect(await refund(readJson(less)), less).toMatchObject({ allow: true })
      expect(await refund(readJson('1e999999999'))).toMatchObject({ allow: false, unavailable: true })
    })

    it('limit by argument: one that must be there is not missed while the tool is only listed', async () => {
      author.follow('limit-by-argument')
      author.edit(
        'toolgate/rules/refund/refund.rego',
        '\tinput.context.arguments.amount > 500\n',
        '\tnot input.context.arguments.amount\n',
      )
      const { ask } = await built()
      const refund = (context: object) => ask({ id: 'refund_order', context })
      expect(await refund({ arguments: {} })).toMatchObject({
        allow: false,
        reasons: [{ code: 'refund_too_large' }],
      })
      expect(await refund({})).toMatchObject({ allow: true })
      // what is known counts all the same
      expect(await ask({ id: 'refund_order', caller: { scopes: ['read'] } })).toMatchObject({ allow: false })
    })

    it('limit by time: as the calendar has it', async () => {
      author.follow('limit-by-time')
      expect(await author.faults()).toEqual([])
      const { ask } = await built()
      for (let hour = 0; hour < 7 * 24; hour++) {
        const time = Date.UTC(2026, 10, 16) + hour * 3_600_000 + 59 * 60_000
        const day = new Date(time).getUTCDay()
        const open = day >= 1 && day <= 5 && hour % 24 >= 8 && hour % 24 < 18
        const destroys = {
          resource: { annotations: { destructiveHint: true } },
          caller: { scopes: ['execute', 'write'] },
        }
        expect([hour, (await ask({ ...destroys, context: { time } })).allow]).toEqual([hour, open])
      }
    })

    it('per tenant: closed for that one only', async () => {
      author.follow('per-tenant')
      expect(await author.faults()).toEqual([])
      const { ask, cacheable } = await built()
      expect(cacheable).toBe(true)
      const asked = { id: 'shop_deleteOrder' }
      expect(await ask(asked)).toMatchObject({ allow: false, reasons: [{ code: 'suspended_for_tenant' }] })
      expect(await ask({ ...asked, caller: { tenant: 'globex' } })).toMatchObject({ allow: true })
      expect(await ask({})).toMatchObject({ allow: true })
    })

    it('oblige: the decision says what has to be done', async () => {
      author.follow('oblige')
      expect(await author.faults()).toEqual([])
      const { ask } = await built()
      expect((await ask({ id: 'shop_getProduct' })).obligations).toEqual({ limit: { per_minute: 3 } })
      expect((await ask({ id: 'shop_getOrder' })).obligations?.redact).toBeDefined()
      expect((await ask({ id: 'shop_getOrder', caller: { roles: ['support'] } })).obligations).toBeUndefined()
    })
  },
)
