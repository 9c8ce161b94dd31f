/** `toolgate audit verify` accepts unchanged records of the embedded database and reports an altered one; row-level security prevents updates. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PGlite } from '@electric-sql/pglite'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { recordAction } from '../../../../src/control-plane/store/audited.ts'
import { openMigratedStore } from '../../../../src/control-plane/store/open-store.ts'
import { EVERY_TENANT } from '../../../../src/control-plane/store/store.ts'
import { systemOrigin } from '../../../../src/model/audit.ts'
import { copyTemplate } from '../../../contract/store/pglite-template.ts'
import { runToolgate } from '../../../fixtures/command.ts'

const RECORDS = 12
/** Every second record is about it. */
const TENANT = 'ten_own'

let dataDir: string
beforeAll(async () => {
  dataDir = mkdtempSync(join(tmpdir(), 'audit-chain-'))
  await copyTemplate(join(dataDir, 'postgres'))
  const onFault = (message: string, error: unknown): void => console.error(message, error)
  const store = await openMigratedStore({ url: 'pglite:', dataDir, now: Date.now, onFault })
  for (let at = 1; at <= RECORDS; at++)
    await store.write(EVERY_TENANT, async tx =>
      recordAction(
        tx,
        systemOrigin('system.test'),
        { type: 'test', id: String(at), tenantId: at % 2 === 0 ? TENANT : null },
        { after: { at } },
      ),
    )
  await store.close()
}, 60_000)
afterAll(() => rmSync(dataDir, { recursive: true, force: true }))

async function raw<T>(work: (db: PGlite) => Promise<T>): Promise<T> {
  const db = new PGlite(join(dataDir, 'postgres'))
  try {
    return await work(db)
  } finally {
    await db.close()
  }
}

async function verify(...options: readonly string[]) {
  const env = { DATA_DIR: dataDir, NODE_ENV: 'test' }
  const { code, out } = await runToolgate(['audit', 'verify', '--json', ...options], env)
  return {
    code,
    ...(JSON.parse(out) as { records: number; seq: number; hash: string; fault: string | null }),
  }
}

it('verifies records that are as they were written, and knows one of an earlier verification', async () => {
  const first = await verify()
  expect(first).toMatchObject({ code: 0, records: RECORDS, seq: RECORDS, fault: null })
  expect(await verify('--known', `${first.seq}:${first.hash}`)).toMatchObject({ code: 0 })
  const other = await verify('--known', `3:${'0'.repeat(64)}`)
  expect([other.code, other.fault]).toEqual([1, expect.stringContaining('the chain was replaced')])
  const missing = await verify('--known', `99:${first.hash}`)
  expect([missing.code, missing.fault]).toEqual([1, 'record 99, given with --known, is missing'])
}, 60_000)

it('detects an altered record, and verifies again when it is restored', async () => {
  const rename = (name: string) =>
    raw(db => db.exec(`update audit set actor_consumer = '${name}' where seq = 5`))
  await rename('other')
  const found = await verify()
  expect([found.code, found.fault]).toEqual([1, expect.stringContaining('record 5 ')])
  await rename('control-plane')
  expect((await verify()).code).toBe(0)
}, 60_000)

it('lets the service change no record, and a tenant delete none of the platform', async () => {
  const affected = await raw(async db => {
    await db.exec(`set role toolgate_app`)
    const counts: (number | undefined)[] = []
    for (const [scope, statement] of [
      ['*', `update audit set action = 'x'`],
      [TENANT, `update audit set action = 'x'`],
      [TENANT, 'delete from audit'],
      ['ten_other', 'delete from audit'],
    ]) {
      await db.query(`select set_config('toolgate.tenant', $1, false)`, [scope])
      counts.push((await db.query(statement!)).affectedRows)
    }
    // the tenant reads the records that it cannot delete
    await db.query(`select set_config('toolgate.tenant', $1, false)`, [TENANT])
    counts.push((await db.query('select seq from audit')).rows.length)
    return counts
  })
  expect(affected).toEqual([0, 0, 0, 0, RECORDS / 2])
}, 60_000)
