/** Every head of the table gets its outcome, and no request hidden behind a refused one is ever run. */
import { describe, expect, it } from 'vitest'
import type { ListenerKind } from '../../../src/net/server/create.ts'
import { COMPLIANCE, type HeadCase, MALFORMED, type Outcome, SMUGGLING } from './heads.ts'
import { isStrictUws, onEachListener, openListener, pause, RawClient, waitFor } from './kit.ts'

/** Long enough for a response, far below the 10 s (30 s in the newer build of uWS) after which a silent connection ends. */
const SILENCE_MS = 150
const PATIENCE_MS = 4_000

onEachListener('request heads', kind => {
  describe.each([
    ['compliance', COMPLIANCE],
    ['smuggling', SMUGGLING],
    ['malformed', MALFORMED],
  ])('%s', (_category, cases) => {
    it.each(cases.map(one => [one.name, outcomeOn(kind, one), one] as const))(
      '%s → %s',
      async (_name, outcome, one) => {
        const ran: string[] = []
        const { port, errors } = await openListener(
          kind,
          (request, response) => {
            ran.push(request.path)
            request.readBody(
              1000,
              () => response.send(200, [], 'ran'),
              () => response.send(413, []),
            )
          },
          { allowChunkedRequests: one.allowChunked === true },
        )
        const client = new RawClient(port).send(one.bytes)
        if (outcome === 'silent') await pause(SILENCE_MS)
        else await waitFor(() => observed(client) === outcome, PATIENCE_MS).catch(() => {})
        expect(observed(client)).toBe(outcome)
        expect(ran).toEqual(one.ran ?? (outcome === 'runs' ? ['/'] : []))
        expect(errors).toEqual([])
      },
    )
  })
})

function outcomeOn(kind: ListenerKind, one: HeadCase): Outcome {
  return kind === 'uws' && isStrictUws ? (one.strictUws ?? one.uws) : one[kind]
}

function observed(client: RawClient): Outcome {
  const text = client.text.replace('HTTP/1.1 100 Continue\r\n\r\n', '')
  if (text === '') return client.closed ? 'closed' : 'silent'
  const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(text)?.[1])
  if (status === 200) return 'runs'
  return client.closed ? status : 'silent'
}
