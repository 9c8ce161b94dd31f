/** The policy contract on `opa-http`, asked of a real OPA server that runs the sources. */
import { type ChildProcess, spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe } from 'vitest'
import { createEgress } from '../../../src/net/egress/client.ts'
import type { PreparedPolicy } from '../../../src/policy/engine.ts'
import { createOpaHttpEngine } from '../../../src/policy/opa-http/engine.ts'
import { findOpa, OPA_VERSION } from '../../../src/policy/workshop/opa.ts'
import { freePort } from '../../fixtures/free-ports.ts'
import { policyContract } from './cases.ts'

const POLICIES = fileURLToPath(new URL('../../../policies', import.meta.url))
const opa = await findOpa(fileURLToPath(new URL('../../../.tools/bin', import.meta.url)), process.env)
const missing = opa === undefined && process.env.REQUIRE_SERVICES !== '1'

async function untilHealthy(origin: string): Promise<void> {
  for (let tries = 0; ; tries++) {
    try {
      if ((await fetch(`${origin}/health`)).ok) return
    } catch (error) {
      if (tries > 200) throw error
    }
    await new Promise(resolve => setTimeout(resolve, 50))
  }
}

describe.skipIf(missing)(`opa-http with opa ${OPA_VERSION} (npm run policy:test installs it)`, () => {
  const egress = createEgress({ allow: [], allowLoopback: true })
  let server: ChildProcess
  let prepared: PreparedPolicy

  beforeAll(async () => {
    if (opa === undefined) throw new Error(`opa ${OPA_VERSION} is neither on the PATH nor in .tools/bin`)
    const port = await freePort()
    const origin = `http://127.0.0.1:${port}`
    server = spawn(
      opa,
      [
        'run',
        '--server',
        '--disable-telemetry',
        '--log-level=error',
        `--addr=127.0.0.1:${port}`,
        '-b',
        POLICIES,
      ],
      {
        stdio: 'ignore',
      },
    )
    await untilHealthy(origin)
    // a loaded test machine must not decide what is too slow
    const engine = createOpaHttpEngine({
      url: `${origin}/v1/data/toolgate/decision`,
      egress,
      timeoutMs: 10_000,
    })
    prepared = await engine.prepare(new Uint8Array())
  })
  afterAll(async () => {
    prepared?.close()
    await egress.close()
    server?.kill()
  })

  policyContract({ policy: () => prepared, stride: 29 })
})
