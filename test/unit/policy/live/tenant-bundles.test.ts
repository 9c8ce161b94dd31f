/** Bundles of tenants in a folder: taken up, replaced, refused, removed. Real files and a real engine. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { BundleChange } from '../../../../src/policy/live/follower.ts'
import { TenantBundles } from '../../../../src/policy/live/tenant-bundles.ts'
import { createOpaWasmEngine } from '../../../../src/policy/opa-wasm/engine.ts'
import { SILENT } from '../../../../src/telemetry/log.ts'
import { costly, inputOf } from '../../../fixtures/policy/inputs.ts'

const engine = createOpaWasmEngine({ maxEvaluationMs: 500 })
/** Longer than a decision after a removal takes on a busy machine. */
const RETIRE_MS = 3_000
let dir: string
let bundles: TenantBundles
/** Slot and kind of each change that was activated. */
let changes: string[]
let refuses: string | undefined

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'tenants-'))
  changes = []
  refuses = undefined
  bundles = new TenantBundles(
    dir,
    { prepare: bundle => engine.prepare(bundle), log: SILENT, retireMs: RETIRE_MS },
    async ({ slot, bundle }: BundleChange, activate) => {
      if (refuses !== undefined) throw new Error(refuses)
      changes.push(`${slot} ${bundle === undefined ? 'removed' : bundle === null ? 'denied' : 'served'}`)
      activate()
    },
  )
})
afterEach(async () => {
  await bundles.close()
  rmSync(dir, { recursive: true })
})

const put = (name: string, bundle: Uint8Array | string) => writeFileSync(join(dir, name), bundle)
const revisions = () => [...bundles.policies].map(([tenant, policy]) => [tenant, policy?.revision ?? null])

describe('bundles of tenants', () => {
  it('are taken up by the names of their files; other files are not looked at', async () => {
    put('acme.tar.gz', costly({}, 'a1'))
    for (const name of ['README.md', '-x.tar.gz', 'UPPER.tar.gz', 'x.tar.gz.bak', `${'a'.repeat(64)}.tar.gz`])
      put(name, 'x')
    await bundles.refresh()
    expect(revisions()).toEqual([['acme', 'a1']])
    expect(bundles.status).toEqual([{ tenant: 'acme', revision: 'a1' }])
    expect(bundles.fault).toBeUndefined()
    expect(changes).toEqual(['tenant acme served'])
  })

  it('are read again only when they have changed', async () => {
    put('acme.tar.gz', costly({}, 'a1'))
    await bundles.refresh()
    await bundles.refresh()
    put('acme.tar.gz', costly({}, 'second'))
    await bundles.refresh()
    expect(revisions()).toEqual([['acme', 'second']])
    expect(changes).toEqual(['tenant acme served', 'tenant acme served'])
  })

  it('that are removed decide only about calls that began with them, and are closed when these have ended', async () => {
    put('acme.tar.gz', costly({}, 'a1'))
    put('globex.tar.gz', costly({}, 'g1'))
    await bundles.refresh()
    const acme = bundles.policies.get('acme')!
    rmSync(join(dir, 'acme.tar.gz'))
    await bundles.refresh()
    expect(revisions()).toEqual([['globex', 'g1']])
    expect(changes.at(-1)).toBe('tenant acme removed')
    expect(acme.decide(inputOf(), 'k', 0)).toMatchObject({ allow: true, revision: 'a1' })
    await expect
      .poll(() => acme.decide(inputOf(), 'k', 0), { timeout: 20_000 })
      .toMatchObject({ allow: false, unavailable: true })
  })

  it('that cannot be served deny the tenant from the first, and say when they are tried again', async () => {
    put('acme.tar.gz', 'not a bundle')
    const beforeMs = Date.now()
    await bundles.refresh()
    expect(revisions()).toEqual([['acme', null]])
    expect(changes).toEqual(['tenant acme denied'])
    const [status] = bundles.status
    expect(status).toMatchObject({ tenant: 'acme', revision: null, attempts: 1 })
    expect(Date.parse(status!.next_attempt_at!)).toBeGreaterThanOrEqual(beforeMs + 1000)
    expect(bundles.fault).toBe(`policy of tenant acme: ${status!.fault}`)
    // not before its time
    await bundles.refresh()
    expect(bundles.status[0]).toMatchObject({ attempts: 1 })
    put('acme.tar.gz', costly({}, 'a1'))
    await bundles.refresh()
    expect(bundles.status).toEqual([{ tenant: 'acme', revision: 'a1' }])
  })

  it('that cannot replace a good one leave it serving; another file begins to count again', async () => {
    put('acme.tar.gz', costly({}, 'a1'))
    put('globex.tar.gz', 'bad')
    await bundles.refresh()
    put('acme.tar.gz', 'bad')
    await bundles.refresh()
    put('acme.tar.gz', 'bad as well')
    await bundles.refresh()
    expect(revisions()).toEqual([
      ['acme', 'a1'],
      ['globex', null],
    ])
    expect(bundles.status[0]).toMatchObject({ revision: 'a1', attempts: 1, fault: expect.any(String) })
    expect(bundles.fault).toMatch(/^policy of tenant acme: .*; policy of tenant globex: /)
    expect(changes.filter(change => change.startsWith('tenant acme'))).toEqual(['tenant acme served'])
  })

  it('that a thread refuses are tried again after a second, though the file has not changed', async () => {
    put('acme.tar.gz', costly({}, 'a1'))
    await bundles.refresh()
    refuses = 'no memory at the moment'
    put('acme.tar.gz', costly({}, 'second'))
    await bundles.refresh()
    expect(bundles.status[0]).toMatchObject({ revision: 'a1', fault: refuses, attempts: 1 })
    await expect
      .poll(async () => {
        await bundles.refresh()
        return bundles.status[0]!.attempts
      })
      .toBe(2)
    refuses = undefined
    await expect
      .poll(
        async () => {
          await bundles.refresh()
          return bundles.status[0]
        },
        { timeout: 15_000 },
      )
      .toEqual({ tenant: 'acme', revision: 'second' })
  })

  it('in a folder that cannot be read leave all as it is', async () => {
    put('acme.tar.gz', costly({}, 'a1'))
    await bundles.refresh()
    rmSync(dir, { recursive: true })
    await expect(bundles.refresh()).rejects.toThrow(/ENOENT/)
    expect(revisions()).toEqual([['acme', 'a1']])
    dir = mkdtempSync(join(tmpdir(), 'tenants-'))
  })

  it('of more than a thousand tenants are not taken up', async () => {
    for (let tenant = 0; tenant <= 1000; tenant++) put(`t${tenant}.tar.gz`, '')
    await expect(bundles.refresh()).rejects.toThrow(/bundles for 1001 tenants, more than the limit of 1000/)
    expect(bundles.policies.size).toBe(0)
  })

  it('are closed at close', async () => {
    put('acme.tar.gz', costly({}, 'a1'))
    await bundles.refresh()
    const acme = bundles.policies.get('acme')!
    await bundles.close()
    expect(acme.decide(inputOf(), 'k', 0)).toMatchObject({ unavailable: true })
    expect(bundles.policies.size).toBe(0)
  })
})
