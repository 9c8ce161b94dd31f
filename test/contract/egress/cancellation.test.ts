/** What a cancelled call of the egress client leaves behind, shown against real loopback servers. */
import { expect, it } from 'vitest'
import { Cancellation } from '../../../src/base/cancellation.ts'
import { deferred, httpBackend } from './backend.ts'
import { client, get, keep, overBoth } from './carriers.ts'

overBoth('cancellation', () => {
  it('closes the connection of the backend within 50 ms', async () => {
    let arrived = deferred<void>()
    let gone = deferred<number>()
    const backend = keep(
      await httpBackend(request => {
        request.socket.once('close', () => gone.resolve(performance.now()))
        arrived.resolve()
      }),
    )
    const took: number[] = []
    for (let round = 0; round < 7; round++) {
      arrived = deferred<void>()
      gone = deferred<number>()
      const cancellation = new Cancellation()
      const pending = client().request(get(backend, { cancellation }))
      await arrived.promise
      const cancelledAt = performance.now()
      cancellation.cancel()
      expect(await pending).toMatchObject({ kind: 'failure', reason: 'cancelled', sent: true })
      took.push((await gone.promise) - cancelledAt)
    }
    took.sort((a, b) => a - b)
    // a delay of ours would be in each of them, one of the machine in some
    expect(took[1]).toBeLessThan(50)
  })

  it('sends nothing when it comes before the call, or while the call waits for a connection', async () => {
    let calls = 0
    const release = deferred<void>()
    const backend = keep(
      await httpBackend(async (_, response) => {
        calls++
        await release.promise
        response.end()
      }),
    )
    const egress = client({ maxConnectionsPerOrigin: 1 })
    const already = new Cancellation()
    already.cancel()
    expect(await egress.request(get(backend, { cancellation: already }))).toMatchObject({ sent: false })

    const first = egress.request(get(backend))
    const waiting = new Cancellation()
    const second = egress.request(get(backend, { cancellation: waiting }))
    waiting.cancel()
    expect(await second).toMatchObject({ reason: 'cancelled', sent: false })
    release.resolve()
    expect(await first).toMatchObject({ status: 200 })
    expect(await egress.request(get(backend))).toMatchObject({ status: 200 })
    expect(calls).toBe(2)
  })
})
