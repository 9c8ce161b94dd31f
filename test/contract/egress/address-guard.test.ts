/** No spelling, resolver or reconnect may lead an outgoing call to an address that is neither public nor allowed; shown with canary servers. */
import type { LookupAddress } from 'node:dns'
import { connect as tcpConnect } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createAddressGuard } from '../../../src/net/egress/address-guard.ts'
import { createEgress } from '../../../src/net/egress/client.ts'
import { behindGuard } from '../../../src/net/egress/connector.ts'
import type { Egress, EgressResponse } from '../../../src/net/egress/egress.ts'
import { httpBackend, type TestBackend } from './backend.ts'
import { HOSTILE_URLS } from './hostile-addresses.ts'

let canary: TestBackend
/** The same port on ::1, where the machine has IPv6. */
let canary6: TestBackend | undefined

beforeAll(async () => {
  canary = await httpBackend((_, response) => response.end('canary'))
  canary6 = await httpBackend((_, response) => response.end('canary'), '::1').catch(() => undefined)
})
afterAll(async () => {
  await canary.close()
  await canary6?.close()
})

const call = (egress: Egress, url: string) =>
  egress.request({ method: 'GET', url, headers: [], timeoutMs: 1500, maxResponseBytes: 1000 })

describe('with nothing allowed', () => {
  it(`reaches no canary by any of ${HOSTILE_URLS.length} spellings`, async () => {
    expect(HOSTILE_URLS.length).toBeGreaterThanOrEqual(120)
    expect(new Set(HOSTILE_URLS).size).toBe(HOSTILE_URLS.length)
    const egress = createEgress({ allow: [], allowLoopback: false })
    const ports = [canary.port, ...(canary6 === undefined ? [] : [canary6.port])]
    for (const port of ports) {
      for (const spelling of HOSTILE_URLS) {
        const url = spelling.replace('PORT', String(port))
        const response = await call(egress, url)
        expect(response.kind, url).toBe('failure')
        expect(response.kind === 'failure' && response.sent, url).toBe(false)
        // `localhost.` is a name some resolvers do not know.
        const unresolved = url.includes('localhost.') ? ['unreachable'] : []
        expect(['blocked_address', 'unsendable', ...unresolved], url).toContain(
          response.kind === 'failure' && response.reason,
        )
        const streamed = await egress.stream({ method: 'GET', url, headers: [], timeoutMs: 1500 })
        expect(streamed.kind, url).toBe('failure')
      }
    }
    await egress.close()
    expect(canary.connections()).toBe(0)
    expect(canary6?.connections() ?? 0).toBe(0)
  })

  it('refuses a name when any of its addresses is forbidden, and asks the resolver again for each connection', async () => {
    const answers: [LookupAddress[], string][] = [
      [[{ address: '127.0.0.1', family: 4 }], 'blocked_address'],
      [
        [
          { address: '93.184.215.14', family: 4 },
          { address: '127.0.0.1', family: 4 },
        ],
        'blocked_address',
      ],
      [[{ address: '::ffff:7f00:1', family: 6 }], 'blocked_address'],
      [[{ address: 'not an address', family: 4 }], 'blocked_address'],
      [[], 'unreachable'],
    ]
    let asked = 0
    const egress = createEgress({
      allow: [],
      allowLoopback: false,
      resolveHost: (_, done) => done(null, answers[asked++]?.[0] ?? []),
    })
    for (const [addresses, reason] of answers) {
      const response = await call(egress, `http://rebind.example:${canary.port}/`)
      expect(response, JSON.stringify(addresses)).toMatchObject({ kind: 'failure', reason, sent: false })
    }
    expect(asked).toBe(answers.length)
    expect(canary.connections()).toBe(0)
    await egress.close()
  })

  it('drops a socket whose peer is not what was checked, before anything is sent', async () => {
    const received: string[] = []
    const trap = await httpBackend((request, response) => {
      received.push(request.url ?? '')
      response.end()
    })
    const guard = createAddressGuard({ allow: [], allowLoopback: false })
    const misled = behindGuard(guard, (_, done) => {
      const socket = tcpConnect(trap.port, '127.0.0.1', () => done(null, socket))
    })
    const error = await new Promise<Error | null>(resolve => {
      misled({ hostname: 'public.example', protocol: 'http:', port: String(trap.port) }, (failed, socket) => {
        expect(socket).toBeNull()
        resolve(failed)
      })
    })
    expect(error?.message).toContain('public.example (127.0.0.1) is a loopback address')
    expect(received).toEqual([])
    await trap.close()
  })
})

describe('with an allow list', () => {
  it('reaches loopback in development, and what the list names, and nothing else', async () => {
    const backend = await httpBackend((_, response) => response.end('ok'))
    const resolveHost: Parameters<typeof createEgress>[0]['resolveHost'] = (_, done) =>
      done(null, [{ address: '127.0.0.1', family: 4 }])
    const reaches = async (allow: string[], allowLoopback: boolean, host: string): Promise<boolean> => {
      const egress = createEgress({ allow, allowLoopback, resolveHost })
      const response = await call(egress, `http://${host}:${backend.port}/`)
      await egress.close()
      return (
        response.kind === 'response' && Buffer.from((response as EgressResponse).body).toString() === 'ok'
      )
    }
    expect(await reaches([], true, '127.0.0.1')).toBe(true)
    expect(await reaches([], true, '[::ffff:127.0.0.1]')).toBe(true)
    expect(await reaches(['127.0.0.0/8'], false, '127.0.0.1')).toBe(true)
    expect(await reaches(['127.0.0.1'], false, '0x7f.1')).toBe(true)
    expect(await reaches(['Backend.Internal'], false, 'backend.internal')).toBe(true)
    expect(await reaches(['backend.internal.'], false, 'backend.internal')).toBe(true)
    expect(await reaches(['backend.internal'], false, 'other.internal')).toBe(false)
    expect(await reaches(['backend.internal'], false, 'x.backend.internal')).toBe(false)
    expect(await reaches(['10.0.0.0/8', 'fd00::/8'], false, '127.0.0.1')).toBe(false)
    expect(await reaches(['127.0.0.2'], false, '127.0.0.1')).toBe(false)
    await backend.close()
  })
})
