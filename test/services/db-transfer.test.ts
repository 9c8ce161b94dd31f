/** `toolgate db copy|backup|restore`: the rows of an embedded database in another database, identical, or none. `TRANSFER=all` uses 5,000 subscriptions. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync, gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { keptKey } from '../../src/base/secrets/key-file.ts'
import { createSealer } from '../../src/base/secrets/sealer.ts'
import { openStore } from '../../src/control-plane/store/open-store.ts'
import { EVERY_TENANT } from '../../src/control-plane/store/store.ts'
import { newId } from '../../src/model/id.ts'
import { copyTemplate } from '../contract/store/pglite-template.ts'
import {
  type Cluster,
  POSTGRES_HINT,
  startCluster,
  WITHOUT_POSTGRES,
} from '../contract/store/postgres-cluster.ts'
import { aKey, anApi, aPlan, aSubscription, aTenant } from '../contract/store/rows.ts'
import { runToolgate } from '../fixtures/command.ts'

const SUBSCRIPTIONS = process.env.TRANSFER === 'all' ? 5000 : 150
const NOW = Date.UTC(2026, 5, 1, 12, 0, 0, 123)
const SECRET = 'whsec_of_the_receiver'

describe.skipIf(WITHOUT_POSTGRES)(`transfer of a database${POSTGRES_HINT}`, () => {
  const dir = mkdtempSync(join(tmpdir(), 'transfer-'))
  const env = { DATA_DIR: join(dir, 'data'), DATABASE_URL: 'pglite:' }
  const backup = join(dir, 'backup.ndjson.gz')
  let cluster: Cluster
  let webhookId = ''

  beforeAll(async () => {
    cluster = await startCluster()
    await copyTemplate(join(env.DATA_DIR, 'postgres'))
    const { store, migrator } = await open(env.DATABASE_URL)
    await migrator.migrate()
    await fill(store)
    await store.close()
  }, 120_000)
  afterAll(async () => {
    await cluster?.stop()
    rmSync(dir, { recursive: true, force: true })
  })

  function open(url: string, sealer = createSealer(keptKey(join(env.DATA_DIR, 'secrets.key')).key)) {
    return openStore({ url, dataDir: env.DATA_DIR, now: () => NOW, onFault: () => {}, sealer })
  }

  async function fill(store: Awaited<ReturnType<typeof open>>['store']): Promise<void> {
    const tenants = Array.from({ length: 5 }, (_, n) => aTenant(`tenant-${n}`, NOW))
    await store.write(EVERY_TENANT, async tx => {
      for (const tenant of tenants) {
        await tx.tenants.insert(tenant)
        await tx.plans.insert(aPlan('own', tenant.id, NOW))
        const api = anApi(tenant.id, NOW, { description: 'line \u2028 paragraph \u2029 "quoted" \\ 日本語' })
        await tx.apis.insert(api)
        for (let n = 0; n < SUBSCRIPTIONS / tenants.length; n++) {
          const subscription = aSubscription(api, NOW, { application: `application-${n}` })
          await tx.subscriptions.insert(subscription)
          await tx.keys.insert(aKey(subscription, NOW))
        }
      }
      webhookId = newId('webhook', NOW)
      await tx.webhooks.insert(
        {
          id: webhookId,
          tenantId: tenants[0]!.id,
          url: 'https://hooks.example.com/a',
          events: ['*'],
          enabled: true,
          customHeaders: { 'x-token': 'hidden' },
          keysOf: null,
          secretNames: {},
          name: 'hook',
          hasSecret: true,
          revision: 1,
          createdAt: new Date(NOW),
          updatedAt: new Date(NOW),
        },
        SECRET,
      )
    })
  }

  /** Every row of a database, sorted. */
  async function rowsOf(url: string): Promise<string[]> {
    const { store, transfer } = await open(url)
    const rows: string[] = []
    await transfer.read(async part => {
      rows.push(...part.rows.map(row => `${part.table} ${row}`))
    })
    await store.close()
    return rows.sort()
  }

  const countIn = (rows: readonly string[], table: string) =>
    rows.filter(row => row.startsWith(`${table} `)).length

  it('transfers every table of the schema', async () => {
    const { store, migrator, transfer } = await open(await cluster.database('schema'))
    await migrator.migrate()
    const contents = await transfer.read(async () => {})
    await store.close()
    const tables = await cluster.tables('schema')
    expect(tables.filter(table => table !== 'schema_migrations').sort()).toEqual(
      contents.tables.map(({ table }) => table).sort(),
    )
  })

  it('copies every row, and the copy opens its secrets with the same key', async () => {
    const url = await cluster.database('copied', 'toolgate')
    const before = performance.now()
    const { code, out, err } = await runToolgate(['db', 'copy', '--to', url], env)
    expect([code, err]).toEqual([0, ''])
    expect(out).toMatch(/^copied and verified: \d+ rows$/m)
    expect(out).toContain(`Back up ${join(env.DATA_DIR, 'secrets.key')}, and set`)
    const [source, target] = [await rowsOf(env.DATABASE_URL), await rowsOf(url)]
    expect(target).toEqual(source)
    expect(countIn(target, 'subscriptions')).toBe(SUBSCRIPTIONS)
    for (const [key, sealedElsewhere] of [
      [keptKey(join(env.DATA_DIR, 'secrets.key')).key, 0],
      ['another key of thirty-two characters', 1],
    ] as const) {
      const { store } = await open(url, createSealer(key))
      expect(await store.read(EVERY_TENANT, tx => tx.webhooks.sealedElsewhere())).toBe(sealedElsewhere)
      await store.close()
    }
    process.stdout.write(`copied ${target.length} rows in ${Math.round(performance.now() - before)} ms\n`)
  }, 120_000)

  it('backs up, and restores into PostgreSQL and into an embedded database', async () => {
    const made = await runToolgate(['db', 'backup', '--to', backup, '--json'], env)
    expect([made.code, made.err]).toEqual([0, ''])
    expect(gunzipSync(readFileSync(backup)).toString()).not.toContain(SECRET)
    const source = await rowsOf(env.DATABASE_URL)
    const other = join(dir, 'embedded', 'postgres')
    await copyTemplate(other)
    for (const DATABASE_URL of [await cluster.database('restored'), `pglite:${other}`]) {
      const restored = await runToolgate(['db', 'restore', '--from', backup], { ...env, DATABASE_URL })
      expect([restored.code, restored.err]).toEqual([0, ''])
      expect(await rowsOf(DATABASE_URL)).toEqual(source)
    }
  }, 120_000)

  it('writes nothing from a damaged or foreign file, or into a database with rows', async () => {
    const DATABASE_URL = await cluster.database('refused')
    const text = gunzipSync(readFileSync(backup)).toString()
    const lines = text.trimEnd().split('\n')
    const damaged: readonly (readonly [string, Uint8Array, RegExp])[] = [
      ['truncated', readFileSync(backup).subarray(0, 2000), /unexpected end|incomplete/],
      ['without its end', gzipSync(`${lines.slice(0, -1).join('\n')}\n`), /incomplete/],
      [
        'with a row less',
        gzipSync(lines.filter((_, n) => n !== 8).join('\n')),
        /after the transfer, .* rows instead of|violates/,
      ],
      [
        'changed',
        gzipSync(text.replace('admin@example.com', 'other@example.com')),
        /after the transfer, .* differs from the backup or source database/,
      ],
      [
        'of a newer version',
        gzipSync(text.replace('"migrations":[', '"migrations":["9999-x",')),
        /newer version/,
      ],
      ['something else', gzipSync('hello\n'), /not a backup/],
    ]
    for (const [what, bytes, message] of damaged) {
      const path = join(dir, 'damaged.gz')
      writeFileSync(path, bytes)
      const { code, err } = await runToolgate(['db', 'restore', '--from', path], { ...env, DATABASE_URL })
      expect(code, what).toBe(1)
      expect(err, what).toMatch(message)
    }
    expect(countIn(await rowsOf(DATABASE_URL), 'tenants')).toBe(0)
    const again = await runToolgate(['db', 'copy', '--to', await cluster.address('copied', 'toolgate')], env)
    expect([again.code, again.err]).toEqual([1, expect.stringContaining('the target database is not empty')])
  }, 120_000)
})
