/** An OPA server behind the fault proxy: no decision means 503, never an allowed call and never a 403. */
import { type ChildProcess, spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { expect } from 'vitest'
import { findOpa, OPA_VERSION } from '../../src/policy/workshop/opa.ts'
import { eventually } from '../contract/toolsets/source-world.ts'
import { freePorts } from '../fixtures/free-ports.ts'
import { startFaultProxy } from './fault-proxy.ts'
import { runTable } from './run-table.ts'
import { fetchIn, prepareSubject } from './subject.ts'
import { OPA_SERVER } from './tables/opa-server.ts'
import { breakProxy, type World } from './world.ts'

const POLICIES = fileURLToPath(new URL('../../policies', import.meta.url))
const opa = await findOpa(fileURLToPath(new URL('../../.tools/bin', import.meta.url)), process.env)
const isMissing = opa === undefined && process.env.REQUIRE_SERVICES !== '1'

async function open(): Promise<World> {
  if (opa === undefined) throw new Error(`opa ${OPA_VERSION} is neither on the PATH nor in .tools/bin`)
  const [port] = await freePorts(1)
  const address = `127.0.0.1:${port}`
  const options = [
    'run',
    '--server',
    '--disable-telemetry',
    '--log-level=error',
    `--addr=${address}`,
    '-b',
    POLICIES,
  ]
  const server: ChildProcess = spawn(opa, options, { stdio: 'ignore' })
  await eventually(async () => (await fetchIn(`http://${address}/health`)).status === 200, 'the OPA server')
  const proxy = await startFaultProxy(`http://${address}`)
  const subject = await prepareSubject({
    env: {
      POLICY_ENGINE: 'opa-http',
      POLICY_URL: `http://127.0.0.1:${proxy.port}/v1/data/toolgate/decision`,
    },
  })
  let backendCalls = 0
  let allowed = 0
  return {
    subject: subject.process,
    dependency: breakProxy(proxy),
    maxCallMs: 3_000,
    async call() {
      const called = await subject.callTool('fast', subject.token, `call-${backendCalls++}`)
      if (called.status === 200) allowed++
      return called
    },
    longCall: () => subject.callTool('slow'),
    longCalls: subject.slowCalls,
    isFine: ({ status }) => status === 200,
    see: () => subject.see('policy server'),
    async begin() {
      subject.backendSaw.clear()
      allowed = 0
    },
    async verify() {
      // the long calls of a row that drains are not counted here
      const reached = [...subject.backendSaw].filter(id => id.startsWith('call-')).length
      expect(reached, 'calls that reached the backend without a decision').toBeLessThanOrEqual(allowed)
    },
    async close() {
      await subject.close()
      await proxy.close()
      server.kill()
    },
  }
}

runTable(OPA_SERVER, { skip: isMissing ? 'npm run policy:test installs opa' : undefined, open })
