/** The number of streams of an instance is bounded also while they wait for the database, and those that fail there do not count. */
import { afterAll, afterEach, beforeAll, expect, it, vi } from 'vitest'
import { type ControlPlane, createControlPlane } from '../../../src/control-plane/api/control-plane.ts'
import { type Store, StoreUnavailable } from '../../../src/control-plane/store/store.ts'
import { openPlane, type Plane } from './plane.ts'

/** For one instance. */
const MAX_STREAMS = 1_000

let plane: Plane
let control: ControlPlane
/** Writing transactions wait for it; undefined: they begin at once. */
let held: Promise<void> | undefined
let waiting = 0
let onWaiting: () => void = () => {}

beforeAll(async () => {
  plane = await openPlane()
  const store: Store = {
    ...plane.store,
    async write(scope, work) {
      waiting++
      onWaiting()
      await held
      return plane.store.write(scope, work)
    },
  }
  control = createControlPlane({ ...plane.options, store })
  await control.settle()
  await control.refresh()
}, 120_000)
afterEach(() => vi.useRealTimers())
afterAll(async () => {
  await control?.close()
  await plane?.close()
})

function connect(signal: AbortSignal): Promise<Response> {
  const address = 'https://api.example/v1/gateways/stream?name=edge&url=http://127.0.0.1:1&workers=1'
  return control.fetch(new Request(address, { headers: { authorization: 'Bearer gateway' }, signal }))
}

it('counts streams that are connecting', { timeout: 120_000 }, async () => {
  const aborter = new AbortController()
  let fail: (error: Error) => void = () => {}
  held = new Promise((_, reject) => {
    fail = reject
  })
  held.catch(() => {})
  waiting = 0
  const allWait = new Promise<string>(resolve => {
    onWaiting = () => {
      if (waiting > MAX_STREAMS) resolve('all wait for the database')
    }
  })
  // the deadline of requests, which a slow machine would reach
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  const replies = Array.from({ length: MAX_STREAMS + 1 }, () => connect(aborter.signal))
  const first = await Promise.race([...replies.map(async reply => (await reply).status), allWait])
  expect(first).toBe(429)
  expect(waiting).toBeLessThanOrEqual(MAX_STREAMS)

  fail(new StoreUnavailable(new Error('the connection was lost')))
  const statuses = (await Promise.all(replies)).map(({ status }) => status)
  expect(statuses.filter(status => status === 503)).toHaveLength(MAX_STREAMS)
  vi.useRealTimers()
  held = undefined
  const opened = await connect(aborter.signal)
  expect(opened.status).toBe(200)
  await opened.body!.cancel()
  aborter.abort()
})
