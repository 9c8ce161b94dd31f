/** The memory of a policy does not grow, however often the policy is evaluated. With SOAK=1 the first test evaluates it a million times. */
import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { readBundle } from '../../../src/policy/bundle.ts'
import { OpaInstance } from '../../../src/policy/opa-wasm/instance.ts'
import { compile } from '../../../src/policy/opa-wasm/webassembly.ts'
import { inputOf, MISBEHAVING, SHIPPED } from '../../fixtures/policy/inputs.ts'

const EVALUATIONS = process.env.SOAK === '1' ? 1_000_000 : 50_000
const LIMITS = { maxMemoryBytes: 64 * 1024 * 1024, maxResultBytes: 1024 * 1024 }

async function instanceOf(url: URL): Promise<OpaInstance> {
  const bundle = readBundle(readFileSync(url))
  return new OpaInstance(await compile(bundle.wasm), bundle.data, bundle.entrypoint, LIMITS)
}

describe('the memory of a policy', () => {
  it(`does not grow over ${EVALUATIONS.toLocaleString('en')} evaluations`, { timeout: 120_000 }, async () => {
    const instance = await instanceOf(SHIPPED)
    const inputs = [
      inputOf(),
      inputOf({ caller: { scopes: ['read'] } }),
      inputOf({ caller: { roles: ['cpi-admin', 'x'.repeat(500)], tenant: 'é'.repeat(300) } }),
      inputOf({ action: 'control.subscriptions.approve' }),
    ].map(input => JSON.stringify(input))
    for (const input of inputs) instance.evaluate(input)
    const before = instance.memoryBytes
    const processBefore = process.memoryUsage().rss
    for (let i = 0; i < EVALUATIONS; i++) instance.evaluate(inputs[i & 3]!)
    expect(instance.memoryBytes).toBe(before)
    if (process.env.SOAK === '1') {
      console.log(
        `wasm ${before} → ${instance.memoryBytes} bytes, process ${processBefore} → ${process.memoryUsage().rss} bytes`,
      )
    }
  })

  it('does not grow over inputs larger than itself', async () => {
    const instance = await instanceOf(MISBEHAVING)
    const input = JSON.stringify(
      inputOf({ action: 'length', context: { arguments: { text: 'x'.repeat(600_000) } } }),
    )
    for (let i = 0; i < 3; i++) instance.evaluate(input)
    const before = instance.memoryBytes
    for (let i = 0; i < 100; i++) instance.evaluate(input)
    expect(instance.memoryBytes).toBe(before)
  })
})
