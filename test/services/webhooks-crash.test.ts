/**
 * `kill -9` of control planes in the midst of subscription changes: every committed change reaches the receiver, no rolled-back one does,
 * and a repetition is the same to the byte. 3 kills and 90 changes, 5 and 150 in the long check; with SOAK=1 50 kills and 2,000 changes, and one instance on
 * PostgreSQL besides (KILLS=10 for a part of it). PGlite runs without fsync, so this covers the process, not the power supply.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createSealer } from '../../src/base/secrets/sealer.ts'
import { openMigratedStore } from '../../src/control-plane/store/open-store.ts'
import { EVERY_TENANT, type Store } from '../../src/control-plane/store/store.ts'
import { isWebhookEvent } from '../../src/model/webhook.ts'
import { copyTemplate } from '../contract/store/pglite-template.ts'
import {
  type Cluster,
  POSTGRES_HINT,
  startCluster,
  WITHOUT_POSTGRES,
} from '../contract/store/postgres-cluster.ts'
import { bundledScript } from '../fixtures/bundled-script.ts'
import { IS_LONG_CHECK, sized } from '../fixtures/check.ts'
import { type Receiver, receiver } from '../fixtures/webhook-receivers.ts'

const SOAK = process.env.SOAK === '1'
const KILLS = SOAK ? Number(process.env.KILLS ?? 50) : sized(3, 5)
const CHANGES = SOAK ? KILLS * 40 : KILLS * 30
const WRITERS = 4
const CHILD = join(import.meta.dirname, '../contract/webhooks/crash-child.ts')

interface Instance {
  url: string
  child: ChildProcess
}

async function start(url: string, dataDir: string): Promise<Instance> {
  const child = spawn(process.execPath, [await bundledScript(CHILD), url, dataDir], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const address = await new Promise<string>((resolve, reject) => {
    child.stdout!.once('data', (chunk: Buffer) => resolve(chunk.toString().trim()))
    child.once('exit', code => reject(new Error(`the control plane ended with ${code} before it was ready`)))
  })
  return { child, url: address }
}

async function kill({ child }: Instance): Promise<void> {
  const ended = new Promise(resolve => child.once('exit', resolve))
  child.kill('SIGKILL')
  await ended
}

async function call(url: string, method: string, path: string, body?: object) {
  const reply = await fetch(`${url}${path}`, {
    method,
    headers: { authorization: 'Bearer x', 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  const text = await reply.text()
  return { status: reply.status, body: text.startsWith('{') ? JSON.parse(text) : {} }
}

/** `kind subscription`, once a client got the confirmation. */
type Finding = Set<string>

interface Run {
  readonly tenant: string
  readonly api: string
  readonly reported: Finding
  /** Revocations that were rolled back, while the subscription lives on. */
  readonly rolledBack: Set<string>
  done: boolean
}

/** Changes one subscription after the other; a killed instance leaves it open what became of the last change. */
async function write(instances: readonly Instance[], run: Run, writer: number): Promise<void> {
  const base = `/v1/tenants/${run.tenant}`
  for (let step = 0; !run.done; step++) {
    const { url } = instances[(writer + step) % instances.length]!
    try {
      const application = `w${writer}-${step}`
      const body = { api_id: run.api, plan: 'gold', application }
      const id: string = (await call(url, 'POST', `${base}/subscriptions`, body)).body.id
      run.reported.add(`subscription.created ${id}`)
      const again = await call(url, 'POST', `${base}/subscriptions`, body)
      if (again.status !== 409) throw new Error(`a duplicate got response ${again.status}`)
      const approved = await call(url, 'POST', `${base}/subscriptions/${id}/approve`, {})
      if (approved.status !== 200) throw new Error(`approve got response ${approved.status}`)
      run.reported.add(`subscription.approved ${id}`)
      if (step % 3 === 0) {
        await call(url, 'DELETE', `${base}/subscriptions/${id}`)
        run.reported.add(`subscription.revoked ${id}`)
      } else if (step % 3 === 1) {
        run.rolledBack.add(id)
        if ((await call(url, 'POST', `/roll-back/${run.tenant}/${id}`)).status !== 418)
          throw new Error('not rolled back')
      }
    } catch {
      // Killed in the middle: nothing was acknowledged. The instance comes back.
      await sleep(50)
    }
  }
}

/** Kills an instance at random moments, `CHANGES / KILLS` acknowledged changes apart, and starts it again. */
async function kills(instances: Instance[], run: Run, url: string, dataDir: string): Promise<void> {
  for (let round = 1; round <= KILLS; round++) {
    while (run.reported.size < (CHANGES / KILLS) * round) await sleep(5)
    await sleep(Math.random() * 60)
    const at = Math.floor(Math.random() * instances.length)
    await kill(instances[at]!)
    instances[at] = await start(url, dataDir)
  }
  run.done = true
}

/** Every event of the log, by kind and subscription. */
async function committed(store: Store): Promise<string[]> {
  return store.read(EVERY_TENANT, async tx => {
    const found: string[] = []
    for (let seq = 0; ; ) {
      const batch = await tx.events.after(seq, 1_000)
      for (const event of batch)
        if (isWebhookEvent(event.kind)) found.push(`${event.kind} ${event.resourceId}`)
      if (batch.length < 1_000) return found
      seq = batch.at(-1)!.seq
    }
  })
}

const SCENARIOS = [
  { name: 'PGlite', instances: 1, skip: !WITHOUT_POSTGRES && !IS_LONG_CHECK },
  { name: `PostgreSQL${POSTGRES_HINT}`, instances: 1, skip: WITHOUT_POSTGRES || !SOAK },
  { name: `PostgreSQL${POSTGRES_HINT}`, instances: 2, skip: WITHOUT_POSTGRES },
]

describe.each(SCENARIOS)('$instances control plane(s) on $name', scenario => {
  describe.skipIf(scenario.skip)(`killed ${KILLS} times during ${CHANGES} changes`, () => {
    let dataDir: string
    let cluster: Cluster | undefined
    let url: string
    let hook: Receiver
    const instances: Instance[] = []

    beforeAll(async () => {
      dataDir = mkdtempSync(join(tmpdir(), 'toolgate-webhooks-'))
      if (scenario.name === 'PGlite') await copyTemplate(join(dataDir, 'postgres'))
      else cluster = await startCluster()
      url = (await cluster?.database('webhooks')) ?? 'pglite:'
      hook = await receiver()
      for (let n = 0; n < scenario.instances; n++) instances.push(await start(url, dataDir))
    })
    afterAll(async () => {
      for (const instance of instances)
        if (instance.child.exitCode === null && instance.child.signalCode === null) await kill(instance)
      await hook?.close()
      await cluster?.stop()
      rmSync(dataDir, { recursive: true, force: true })
    })

    it(
      'lose no event, report nothing that was rolled back, and repeat with the same identity',
      async () => {
        const first = instances[0]!.url
        const tenant = (await call(first, 'POST', '/v1/tenants', { name: 'acme', tier: 'enterprise' })).body
          .id
        const base = `/v1/tenants/${tenant}`
        const upstream = { name: 'a', upstream_url: 'http://127.0.0.1:9', path: '/a' }
        const api = (await call(first, 'POST', `${base}/apis`, upstream)).body.id
        const made = await call(first, 'POST', `${base}/webhooks`, { url: hook.url, events: ['*'] })
        expect(made.status).toBe(201)
        const run: Run = { tenant, api, reported: new Set(), rolledBack: new Set(), done: false }
        const writers = Array.from({ length: WRITERS }, (_, writer) => write(instances, run, writer))
        await kills(instances, run, url, dataDir)
        await Promise.all(writers)

        const queue = `${base}/webhooks/${made.body.id}/deliveries?limit=1&status=pending`
        for (let waitedMs = 0; ; waitedMs += 100) {
          const { total } = (await call(instances[0]!.url, 'GET', queue)).body
          if (total === 0) break
          if (waitedMs > 60_000) throw new Error(`${total} deliveries are still waiting`)
          await sleep(100)
        }
        for (const instance of instances) await kill(instance)
        const sealer = createSealer('crash')
        const store = await openMigratedStore({ url, dataDir, now: Date.now, onFault: () => {}, sealer })
        const events = await committed(store)
        await store.close()

        const byId = new Map<string, { raw: Buffer; what: string; moment: string }>()
        let repeats = 0
        for (const { headers, raw, payload } of hook.received) {
          const id = String(headers['webhook-id'])
          const before = byId.get(id)
          if (before !== undefined) {
            repeats++
            expect(raw.equals(before.raw)).toBe(true)
          }
          const what = `${payload.event} ${payload.data.subscription_id}`
          byId.set(id, { raw, what, moment: `${payload.webhook_id} ${payload.timestamp}` })
        }
        const received = [...byId.values()]
        // One message for each event: none lost, none invented, none under two identities.
        expect(received.map(each => each.what).sort()).toEqual([...events].sort())
        expect(new Set(events).size).toBe(events.length)
        expect(new Set(received.map(each => each.moment)).size).toBe(received.length)
        const all = new Set(events)
        for (const reported of run.reported) expect(all.has(reported), reported).toBe(true)
        for (const id of run.rolledBack) expect(all.has(`subscription.revoked ${id}`), id).toBe(false)
        console.log(
          `${scenario.name} × ${scenario.instances}: ${KILLS} kills, ${run.reported.size} changes acknowledged, ${events.length} events committed, ${received.length} received, ${repeats} repeats, ${run.rolledBack.size} rolled back`,
        )
        expect(run.reported.size).toBeGreaterThanOrEqual(CHANGES)
        expect(run.rolledBack.size).toBeGreaterThan(0)
      },
      SOAK ? 900_000 : 180_000,
    )
  })
})
