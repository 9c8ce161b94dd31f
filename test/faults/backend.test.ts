/** A backend behind the fault proxy: its calls fail with the right status and are counted, all else goes on, and the circuit closes soon after the return. */
import { expect } from 'vitest'
import { BUSY_FACTOR } from '../fixtures/check.ts'
import { type FaultProxy, startFaultProxy } from './fault-proxy.ts'
import { runTable } from './run-table.ts'
import { fetchIn, PROXIED_PATH, prepareSubject } from './subject.ts'
import { BACKEND } from './tables/backend.ts'
import { breakProxy, type Called, type World } from './world.ts'

const FAILED = [502, 503, 504]
/** A caller of the proxied API gives up after this time; the gateway itself would wait for a minute. */
const PATIENCE_MS = 3_000
/** As in the table of the control plane: three times as long beside other suites. */
const CLOSED_WITHIN_MS = 3_000 * BUSY_FACTOR

async function open(): Promise<World> {
  let proxy: FaultProxy | undefined
  const subject = await prepareSubject({
    async backendUrl(url) {
      proxy = await startFaultProxy(url)
      return `http://127.0.0.1:${proxy.port}`
    },
  })
  /** Failed calls, as the metrics count them. */
  const counted = async (): Promise<number> => {
    const text = await subject.metrics()
    const values = [...text.matchAll(/^platform_requests_total\{[^}]*status="50[234]"[^}]*\} (\d+)$/gm)]
    return values.reduce((sum, [, value]) => sum + Number(value), 0)
  }
  let failed = 0
  let before = 0
  let calls = 0
  async function callApi(): Promise<Called> {
    const signal = AbortSignal.timeout(PATIENCE_MS)
    const proxied = await fetchIn(`${subject.url}${PROXIED_PATH}`, { signal })
    register(proxied)
    return signal.aborted ? { ...proxied, status: 499 } : proxied
  }
  async function callTool(): Promise<Called> {
    const called = await subject.callTool('fast')
    register(called)
    return called
  }
  /** A process without a configuration has no consumer to count a call for. */
  function register({ status, text }: Called): void {
    if (FAILED.includes(status) && !text.includes('"not_ready"')) failed++
  }
  const call = (): Promise<Called> => (calls++ % 2 === 1 ? callApi() : callTool())
  return {
    subject: subject.process,
    dependency: breakProxy(proxy!),
    // the time-out of the tool, and a busy machine
    maxCallMs: 4_000,
    call,
    longCall: () => subject.callTool('slow'),
    longCalls: subject.slowCalls,
    isFine: ({ status }) => status === 200,
    see: () => subject.see('backend'),
    async begin({ moment }) {
      failed = 0
      // the process that takes the calls of these moments is started later and counts from 0
      before = moment === 'start' || moment === 'draining' ? 0 : await counted()
    },
    async verify() {
      // the circuit of the proxied API is open for up to 2 s after the backend is back
      for (const way of [callTool, callApi])
        await expect
          .poll(async () => (await way()).status, { timeout: CLOSED_WITHIN_MS, interval: 50 })
          .toBe(200)
      expect((await counted()) - before, 'failed calls in the metrics').toBeGreaterThanOrEqual(failed)
    },
    async close() {
      await subject.close()
      await proxy?.close()
    },
  }
}

runTable(BACKEND, { open })
