/** The policy contract on `opa-wasm`, with the bundle that is shipped. */
import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe } from 'vitest'
import type { PreparedPolicy } from '../../../src/policy/engine.ts'
import { createOpaWasmEngine } from '../../../src/policy/opa-wasm/engine.ts'
import { policyContract } from './cases.ts'

describe('opa-wasm', () => {
  let prepared: PreparedPolicy
  beforeAll(async () => {
    prepared = await createOpaWasmEngine().prepare(
      readFileSync(new URL('../../../policies/bundle.tar.gz', import.meta.url)),
    )
  })
  afterAll(() => prepared.close())

  policyContract({ policy: () => prepared, stride: 1 })
})
