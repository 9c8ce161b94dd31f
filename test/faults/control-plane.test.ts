/** The control plane behind the fault proxy: a gateway serves the last configuration, and receives changes soon after the return. */
import { expect } from 'vitest'
import { BUSY_FACTOR } from '../fixtures/check.ts'
import { type FaultProxy, startFaultProxy } from './fault-proxy.ts'
import { runTable } from './run-table.ts'
import { prepareSubject } from './subject.ts'
import { CONTROL_PLANE } from './tables/control-plane.ts'
import { breakProxy, type World } from './world.ts'

async function open(): Promise<World> {
  let proxy: FaultProxy | undefined
  const subject = await prepareSubject({
    async controlPlaneUrl(url) {
      proxy = await startFaultProxy(url)
      return `http://127.0.0.1:${proxy.port}`
    },
  })
  const snapshot = async (): Promise<string> =>
    /"snapshot":"(\w+)"/.exec((await subject.see('')).text)?.[1] ?? ''
  let before = ''
  return {
    subject: subject.process,
    dependency: breakProxy(proxy!),
    maxCallMs: 2_000,
    call: () => subject.callTool('fast'),
    longCall: () => subject.callTool('slow'),
    longCalls: subject.slowCalls,
    isFine: ({ status }) => status === 200,
    see: () => subject.see('control plane'),
    async begin() {
      before = await snapshot()
    },
    async enter({ moment }) {
      // the stream ends, and the next one is requested while the fault lasts
      if (moment === 'subscribing') proxy!.reset()
      return async () => {}
    },
    async verify() {
      expect(await snapshot()).toBe(before)
      subject.change()
      await expect.poll(snapshot, { timeout: 3_000 * BUSY_FACTOR }).not.toBe(before)
    },
    async close() {
      await subject.close()
      await proxy?.close()
    },
  }
}

runTable(CONTROL_PLANE, { open })
