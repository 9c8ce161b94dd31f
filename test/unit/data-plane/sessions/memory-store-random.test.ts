/** Random uses of the session store in memory, compared with a model that reads each id every time and keeps no session that it has made. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { fileKeyRing, type KeyRing } from '../../../../src/data-plane/sessions/key-ring.ts'
import { MemorySessionStore } from '../../../../src/data-plane/sessions/memory/store.ts'
import { readSessionId } from '../../../../src/data-plane/sessions/session-id.ts'
import type {
  Session,
  SessionFacts,
  SettledFacts,
} from '../../../../src/data-plane/sessions/session-store.ts'
import { randomFrom } from '../../../fixtures/fuzz-cases.ts'

const TTL_MS = 1000
const MAX_SESSIONS = 6
const T0 = 1_700_000_000_000
const dir = mkdtempSync(join(tmpdir(), 'sessions-random-'))
afterAll(() => rmSync(dir, { recursive: true }))

interface Known {
  owner: string
  settled: SettledFacts | undefined
  lastSeenMs: number
  legacy: number
  standalone: number
}

class Model {
  readonly #keys: KeyRing
  /** In order of last use. */
  readonly #known = new Map<string, Known>()
  readonly #ended: string[] = []

  constructor(keys: KeyRing) {
    this.#keys = keys
  }

  created(id: string, owner: string, nowMs: number): void {
    this.#makePlace()
    this.#known.set(id, { owner, settled: undefined, lastSeenMs: nowMs, legacy: 0, standalone: 0 })
  }

  find(id: string, nowMs: number): Session | undefined {
    const facts = readSessionId(id, this.#keys)!
    if (this.#ended.includes(id)) return undefined
    const known = this.#known.get(id)
    const isStreaming = known !== undefined && known.legacy + known.standalone > 0
    const idleMs = nowMs - (known?.lastSeenMs ?? facts.createdAtMs)
    this.#known.delete(id)
    if (!isStreaming && (idleMs > TTL_MS || facts.origin === 'stream')) return undefined
    if (known === undefined) this.#makePlace()
    const now = { ...(known ?? { owner: facts.owner, settled: undefined, legacy: 0, standalone: 0 }) }
    this.#known.set(id, { ...now, lastSeenMs: nowMs })
    return { id, ...facts, ...now.settled, owner: now.owner, legacyStream: now.legacy > 0 }
  }

  update(id: string, settled: SettledFacts): void {
    const known = this.#known.get(id)
    if (known !== undefined) known.settled = settled
  }

  claim(id: string, owner: string): boolean {
    const known = this.#known.get(id)
    if (known === undefined) return false
    known.owner ||= owner
    return known.owner === owner
  }

  stream(id: string, kind: 'legacy' | 'standalone', isOpen: boolean, nowMs: number): void {
    const known = this.#known.get(id)
    if (known === undefined) return
    known[kind] += isOpen ? 1 : -1
    known.lastSeenMs = nowMs
    const isOfStream = readSessionId(id, this.#keys)!.origin === 'stream'
    if (!isOpen && kind === 'legacy' && known.legacy === 0 && isOfStream) this.end(id)
  }

  hasStream(id: string, kind: 'legacy' | 'standalone'): boolean {
    return (this.#known.get(id)?.[kind] ?? 0) > 0
  }

  end(id: string): boolean {
    if (this.#ended.includes(id)) return false
    if (this.#ended.length >= MAX_SESSIONS) this.#ended.shift()
    this.#ended.push(id)
    return this.#known.delete(id)
  }

  #makePlace(): void {
    if (this.#known.size < MAX_SESSIONS) return
    for (const [id, { legacy, standalone }] of this.#known)
      if (legacy + standalone === 0) return void this.#known.delete(id)
  }
}

it.each([1, 2, 3, 4])('finds what the model finds (seed %i)', seed => {
  const next = randomFrom(seed)
  const pick = <T>(of: readonly T[]): T => of[Math.floor(next() * of.length)]!
  const clock = { ms: T0 }
  const keys = fileKeyRing(join(dir, `ring-${seed}.json`), () => clock.ms)
  const store = new MemorySessionStore({
    keys,
    ttlMs: TTL_MS,
    maxSessions: MAX_SESSIONS,
    now: () => clock.ms,
  })
  const model = new Model(keys)
  const ids: string[] = []
  let found = 0
  for (let step = 0; step < 20_000; step++) {
    if (next() < 0.3) clock.ms += Math.floor(next() * 300)
    const use = next()
    if (ids.length === 0 || use < 0.04) {
      const facts: SessionFacts = {
        protocolVersion: pick(['2024-11-05', '2025-11-25']),
        origin: pick(['initialize', 'initialize', 'stream']),
        elicitation: next() < 0.5,
        ...(next() < 0.5 ? { sampling: true } : undefined),
        owner: pick(['', '00112233445566aa']),
        createdAtMs: clock.ms,
      }
      const { id } = store.create(facts)
      model.created(id, facts.owner, clock.ms)
      ids.push(id)
      if (ids.length > 12) ids.shift()
      continue
    }
    const id = pick(ids)
    if (use < 0.6) {
      const session = store.find(id, clock.ms)
      expect(session).toEqual(model.find(id, clock.ms))
      if (session !== undefined) found++
    } else if (use < 0.7) {
      const settled = {
        protocolVersion: '2025-06-18',
        elicitation: next() < 0.5,
        logLevel: pick(['info', 'error']),
      }
      store.update(id, settled)
      model.update(id, settled)
    } else if (use < 0.8) {
      const owner = pick(['00112233445566aa', 'ffeeddccbbaa9988'])
      expect(store.claim({ id } as Session, owner)).toBe(model.claim(id, owner))
    } else if (use < 0.98) {
      const kind = pick(['legacy', 'standalone'] as const)
      const isOpen = !model.hasStream(id, kind)
      store.setStreaming(id, kind, isOpen)
      model.stream(id, kind, isOpen, clock.ms)
    } else expect(store.end(id)).toBe(model.end(id))
  }
  expect(found).toBeGreaterThan(1000)
  store.close()
})
