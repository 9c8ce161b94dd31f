/** Calls of all gateways at the control plane: merged, limited to the tenant of the caller, and honest about gateways that do not reply. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { getOrSet } from '../../../src/base/once-per.ts'
import { type ControlPlane, createControlPlane } from '../../../src/control-plane/api/control-plane.ts'
import { addCall } from '../../../src/data-plane/calls/figures.ts'
import { type FleetQuestion, type FleetReply, wireSummary } from '../../../src/link/fleet-question.ts'
import type { ControlPlaneTransport } from '../../../src/link/transport.ts'
import { noFigures, SEPARATOR } from '../../../src/model/call-figures.ts'
import type { Cluster } from '../store/postgres-cluster.ts'
import { type Caller, DATABASES, type ForeignCaller, openPlane, type Plane, populate } from './plane.ts'

interface Recorded {
  readonly tenant: string
  readonly outcome?: string
  readonly durationMs?: number
}

const AT = Date.parse('2026-03-01T10:20:00Z')

function rowOf(name: string, { tenant, outcome = 'success', durationMs = 5 }: Recorded, at: number): object {
  return {
    id: `${name}-${at}`,
    at: new Date(AT + at).toISOString(),
    worker: 1,
    action: 'tools.call',
    access: 'rest',
    tenant,
    consumer: `${tenant}-agent`,
    tool: 'shop_getProduct',
    toolset: 'shop',
    kind: outcome === 'success' ? 'success' : 'refused',
    outcome,
    status: 200,
    duration_ms: durationMs,
    backend_ms: null,
    cache_hit: false,
    request_id: `r-${name}-${at}`,
    trace_id: '',
    decision_id: null,
    snapshot: 'abc',
    policy_revision: null,
    // of a newer gateway
    mood: 'good',
  }
}

/** Ignores the tenant of the question, as no gateway should. */
function careless(name: string, calls: readonly Recorded[], question: FleetQuestion): FleetReply {
  const window = { calls: calls.length, capacity: 10_000, sinceMs: AT }
  if (question.kind === 'calls')
    return {
      question_id: question.id,
      calls: calls.map((call, at) => rowOf(name, call, at)).reverse(),
      window,
    }
  const summary = {
    total: noFigures(),
    coveredFromMs: question.fromMs,
    coveredToMs: question.toMs,
    tools: new Map(),
    consumers: new Map(),
    refusals: new Map(),
    failures: new Map(),
    series: Array.from({ length: question.parts }, noFigures),
    window,
  }
  for (const { tenant, outcome = 'success', durationMs = 5 } of calls) {
    const call = { outcome, atMs: AT, durationMs, backendMs: -1 } as Parameters<typeof addCall>[1]
    const consumer = `${tenant}-agent`
    addCall(summary.total, call)
    addCall(getOrSet(summary.tools, ['shop', 'shop_getProduct'].join(SEPARATOR), noFigures), call)
    addCall(getOrSet(summary.consumers, [tenant, consumer].join(SEPARATOR), noFigures), call)
    if (outcome !== 'success')
      addCall(getOrSet(summary.refusals, [outcome, tenant, consumer].join(SEPARATOR), noFigures), call)
  }
  const workers = [{ worker: 1, status: 'online', snapshot: name, policy_revision: 'p1' }]
  return { question_id: question.id, summary: wireSummary(summary), workers }
}

describe.each(DATABASES)('calls of the fleet on $name', { timeout: 60_000 }, database => {
  describe.skipIf(database.skip)('at the control plane', () => {
    let plane: Plane
    let cluster: Cluster | undefined
    const closers: (() => Promise<void>)[] = []

    beforeAll(async () => {
      cluster = await database.start()
      plane = await openPlane({ cluster })
      await populate(plane)
    }, 60_000)
    afterEach(async () => {
      for (const close of closers.splice(0)) await close()
      // a gateway that is silent is not live
      plane.clock.nowMs += 60_000
    })
    afterAll(async () => {
      await plane.close()
      await cluster?.stop()
    })

    /** A gateway over the link in the process. @param calls undefined: it reads its stream and never replies */
    async function gateway(
      name: string,
      calls: readonly Recorded[] | undefined,
      via: ControlPlane = plane.control,
      replies: ControlPlaneTransport = via.transport,
    ): Promise<void> {
      const hello = { name, url: '', version: '1', workers: 1, authConfig: {} }
      const stream = await via.transport.connect(hello, null)
      let id = ''
      let registered = (): void => {}
      const ready = new Promise<void>(resolve => {
        registered = resolve
      })
      const reading = (async () => {
        for await (const event of stream.events) {
          if (event.name === 'hello') {
            id = (event.data as { gateway_id: string }).gateway_id
            registered()
          }
          if (event.name === 'question' && calls !== undefined)
            await replies.reply(id, careless(name, calls, event.data as FleetQuestion))
        }
      })()
      closers.push(async () => {
        stream.close()
        await reading
      })
      await ready
    }
    const read = async (caller: Caller | ForeignCaller, path: string, headers = {}) => {
      const { status, body } = await plane.call(caller, 'GET', `/v1/fleet/${path}`, undefined, headers)
      expect(status, JSON.stringify(body)).toBe(200)
      return body
    }
    const BOTH = [{ tenant: 'acme' }, { tenant: 'globex', outcome: 'quota_exceeded' }]

    it('are merged, the newest first, and name their gateway', async () => {
      await gateway('east', [{ tenant: 'acme' }, { tenant: 'acme', durationMs: 20 }])
      await gateway('west', [...BOTH, { tenant: 'globex' }])
      const { calls, gateways, complete } = await read('platform', 'calls')
      expect(calls.map((call: { id: string; gateway: string }) => [call.gateway, call.id])).toEqual([
        ['west', 'west-2'],
        ['east', 'east-1'],
        ['west', 'west-1'],
        ['east', 'east-0'],
        ['west', 'west-0'],
      ])
      expect(calls[0].mood).toBeUndefined()
      expect(gateways).toMatchObject([
        { name: 'east', status: 'replied', calls: 2 },
        { name: 'west', status: 'replied', calls: 3 },
      ])
      expect(complete).toBe(true)
      expect((await read('platform', 'calls?limit=2')).calls).toHaveLength(2)
      const overview = await read('platform', 'overview')
      expect(overview).toMatchObject({ calls: 5, refused: 1, consistent: false, complete: true })
      expect(overview.refusals).toMatchObject([{ reason: 'quota_exceeded', calls: 1 }])
      const { tools } = await read('platform', 'tools')
      expect(tools).toMatchObject([{ tool: 'shop_getProduct', calls: 5, refused: 1 }])
    })

    it('are those of the tenant of the caller, even where a gateway says more', async () => {
      await gateway('careless', BOTH)
      for (const [caller, tenant] of [
        ['auditor', 'acme'],
        ['globex:auditor', 'globex'],
        ['scoped', 'acme'],
      ] as const) {
        const { calls, gateways } = await read(caller, 'calls')
        expect(new Set(calls.map((call: { tenant: string }) => call.tenant))).toEqual(new Set([tenant]))
        expect(gateways[0].workers).toBeNull()
        const overview = await read(caller, 'overview')
        const listed = [overview.refusals, overview.consumers, overview.consistent]
        expect(JSON.stringify(listed)).not.toContain(tenant === 'acme' ? 'globex' : 'acme')
        expect(overview.consistent).toBeNull()
        // sums cannot be divided again, so a summary that names another tenant is not used
        expect(overview).toMatchObject({ calls: 0, refused: 0, slowest: [], failures: [], complete: false })
        expect(overview.series.every((part: { calls: number }) => part.calls === 0)).toBe(true)
        expect(overview.gateways).toMatchObject([{ name: 'careless', status: 'no_reply', workers: null }])
        expect(await read(caller, 'tools')).toMatchObject({ tools: [], complete: false })
      }
      const chosen = await read('platform', 'calls', { 'x-tenant-id': 'globex' })
      expect(chosen.calls.map((call: { tenant: string }) => call.tenant)).toEqual(['globex'])
      for (const caller of ['viewer', 'devops', 'admin', 'app', 'subscriber', 'unprivileged'] as const)
        for (const path of ['calls', 'overview', 'tools'])
          expect((await plane.call(caller, 'GET', `/v1/fleet/${path}`)).status, caller).toBe(403)
      const foreign = await plane.call('auditor', 'GET', '/v1/fleet/calls', undefined, {
        'x-tenant-id': 'globex',
      })
      expect(foreign.status).toBe(403)
    })

    it('of one tenant are shown without the threads of the gateway', async () => {
      await gateway('talkative', [{ tenant: 'acme' }, { tenant: 'acme', outcome: 'quota_exceeded' }])
      const overview = await read('auditor', 'overview')
      expect(overview).toMatchObject({ calls: 2, refused: 1, complete: true })
      expect(overview.gateways).toMatchObject([{ name: 'talkative', status: 'replied', workers: null }])
    })

    it('come from those that reply in time; the others are named', async () => {
      await gateway('prompt', BOTH)
      await gateway('silent', undefined)
      const { calls, gateways, complete } = await read('platform', 'calls')
      expect(calls).toHaveLength(2)
      expect(gateways).toMatchObject([
        { name: 'prompt', status: 'replied' },
        { name: 'silent', status: 'no_reply', calls: null, since: null, workers: null },
      ])
      expect(complete).toBe(false)
      // a reply to a question that was never asked does not throw
      await plane.control.transport.reply('gw_unknown', { question_id: 'x', calls: [] })
    })

    it('can be filtered with every duration that is documented', async () => {
      const status = async (minMs: number) =>
        (await plane.call('platform', 'GET', `/v1/fleet/calls?min_ms=${minMs}`)).status
      expect([await status(1_000_000_000), await status(1_000_000_001)]).toEqual([200, 400])
    })

    it('need no gateway', async () => {
      expect(await read('platform', 'calls')).toEqual({ calls: [], gateways: [], complete: true })
      expect(await read('platform', 'overview')).toMatchObject({ calls: 0, gateways: [], consistent: true })
    })

    it.skipIf(database.name === 'PGlite')(
      'include gateways of another control-plane instance, wherever their replies arrive',
      async () => {
        const other = createControlPlane(plane.options)
        closers.unshift(() => other.close())
        const many = Array.from({ length: 200 }, (_, at) => ({ tenant: 'acme', durationMs: at }))
        await gateway('here', BOTH, plane.control, other.transport)
        await gateway('there', many, other)
        const { calls, complete } = await read('platform', 'calls?limit=200')
        expect(complete).toBe(true)
        expect(new Set(calls.map((call: { gateway: string }) => call.gateway))).toEqual(
          new Set(['here', 'there']),
        )
      },
    )

    it.skipIf(database.name === 'PGlite')(
      'leave out a gateway whose reply cannot be read between instances, and say so',
      async () => {
        const unhandled: unknown[] = []
        const note = (error: unknown) => unhandled.push(error)
        process.on('unhandledRejection', note)
        closers.push(async () => void process.off('unhandledRejection', note))
        const other = createControlPlane(plane.options)
        closers.unshift(() => other.close())
        const viaOther: ControlPlaneTransport['reply'] = async (id, { question_id }) => {
          // each `1e20` is 17 characters longer when it is written again
          const figures = { c: 1, r: 0, f: 0, at: 0, l: Array(2_000).fill(null), b: [] }
          const text = JSON.stringify({
            summary: {
              ...{ total: figures, covered_from: 0, tools: [], consumers: [], refusals: [], failures: [] },
              ...{ series: Array(80).fill(figures), window: { calls: 1, capacity: 1, sinceMs: 0 } },
            },
          })
          const content = text.replaceAll('null', '1e20')
          const { status } = await other.fetch(
            new Request(`https://api.example/v1/gateways/${id}/replies`, {
              method: 'POST',
              headers: { authorization: 'Bearer gateway', 'content-type': 'application/json' },
              body: JSON.stringify({ question_id, content }),
            }),
          )
          expect(status).toBe(204)
        }
        await gateway('honest', [{ tenant: 'acme' }])
        await gateway('hostile', BOTH, plane.control, { ...plane.control.transport, reply: viaOther })
        const broken = ['{', 'null', '7', '{"ask":null}', '{"of":7}']
        await plane.store.notify(broken)
        const overview = await read('platform', 'overview')
        expect(overview).toMatchObject({ calls: 1, complete: false })
        expect(overview.gateways).toMatchObject([
          { name: 'honest', status: 'replied' },
          { name: 'hostile', status: 'no_reply' },
        ])
        expect(unhandled).toEqual([])
      },
    )
  })
})
