/** `toolgate db` and the embedded database's life: created whole or not at all, opened by one process, migrated forward only. */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PGlite } from '@electric-sql/pglite'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { MIGRATIONS } from '../../../../src/control-plane/store/migrations/index.ts'
import { createMigrator } from '../../../../src/control-plane/store/migrations/run.ts'
import { openStore } from '../../../../src/control-plane/store/open-store.ts'
import { pgliteDialect } from '../../../../src/control-plane/store/pglite/dialect.ts'
import { database } from '../../../../src/control-plane/store/sql/sql-store.ts'
import { copyEmptyTemplate } from '../../../contract/store/pglite-template.ts'
import { runToolgate } from '../../../fixtures/command.ts'

let dataDir: string
const env = () => ({ DATABASE_URL: 'pglite:', DATA_DIR: dataDir })

beforeAll(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'toolgate-db-'))
})
afterAll(() => rmSync(dataDir, { recursive: true, force: true }))

const run = (...args: string[]) => runToolgate(['db', ...args], env())
const status = (settings: Record<string, string>) => runToolgate(['db', 'status'], settings)

describe('toolgate db', () => {
  it('says what is missing, applies it, and then finds nothing to do', async () => {
    await copyEmptyTemplate(join(dataDir, 'postgres'))
    const before = await run('status', '--json')
    expect(before.code).toBe(1)
    expect(JSON.parse(before.out).migrations[0]).toEqual({ name: '0001-initial', applied_at: null })
    expect(await run('migrate')).toMatchObject({
      code: 0,
      out: expect.stringContaining('applied 0001-initial'),
    })
    expect(await run('migrate')).toMatchObject({ code: 0, out: 'The schema is up to date.\n' })
    expect((await run('status')).code).toBe(0)
  })

  it('creates a missing database on migrate, and removes what an interrupted creation left', async () => {
    const created = join(dataDir, 'created')
    mkdirSync(join(created, 'postgres.creating-1'), { recursive: true })
    expect((await runToolgate(['db', 'migrate'], { DATA_DIR: created })).code).toBe(0)
    expect((await runToolgate(['db', 'status'], { DATA_DIR: created })).code).toBe(0)
    expect(existsSync(join(created, 'postgres.creating-1'))).toBe(false)
  }, 120_000)

  it.each([
    ['db', 'status'],
    ['db', 'backup', '--to', 'FILE'],
    ['db', 'copy', '--to', 'pglite:TARGET'],
    ['audit', 'verify'],
  ])(
    '%s %s refuses a missing database, creates none and keeps the file of an earlier backup',
    async (...args) => {
      const elsewhere = join(dataDir, 'elsewhere')
      const [file, target] = [join(dataDir, 'backup.ndjson.gz'), join(dataDir, 'target')]
      writeFileSync(file, 'the backup of yesterday')
      const words = args.map(word => word.replace('FILE', file).replace('TARGET', target))
      for (const [setting, directory, settings] of [
        ['DATA_DIR', join(elsewhere, 'postgres'), { DATA_DIR: elsewhere }],
        ['DATABASE_URL', join(elsewhere, 'db'), { DATABASE_URL: `pglite:${join(elsewhere, 'db')}` }],
      ] as const) {
        const { code, out, err } = await runToolgate(words, settings)
        expect([code, out]).toEqual([78, ''])
        expect(err).toContain(`${directory} does not contain a database. Set ${setting} to`)
      }
      const memory = await runToolgate(words, { DATABASE_URL: 'pglite:memory' })
      expect([memory.code, memory.err]).toEqual([78, expect.stringContaining('is empty in each new process')])
      expect([existsSync(elsewhere), existsSync(target)]).toEqual([false, false])
      expect(readFileSync(file, 'utf8')).toBe('the backup of yesterday')
    },
  )

  it('refuses a directory that a running process has open', async () => {
    const { store } = await openStore({ url: 'pglite:', dataDir, now: Date.now, onFault: () => {} })
    try {
      expect(await run('status')).toMatchObject({
        code: 78,
        err: expect.stringContaining('is in use by process'),
      })
    } finally {
      await store.close()
    }
  })

  it.each([[[]], [['upgrade']], [['migrate', 'now']]])('refuses %j with a hint at the usage', async args => {
    expect(await run(...args)).toMatchObject({ code: 64, err: expect.stringMatching(/--help/) })
  })

  it('refuses another form of DATABASE_URL and names postgres://', async () => {
    expect(await status({ DATABASE_URL: 'sqlite:x' })).toMatchObject({
      code: 78,
      err: expect.stringContaining('postgres://'),
    })
  })

  it('takes the address from a file, but not from two places', async () => {
    const file = join(dataDir, 'url')
    writeFileSync(file, 'postgres://u:hunter2@127.0.0.1:1/d\n')
    const { code, err } = await status({ DATABASE_URL_FILE: file })
    expect(code).toBe(78)
    expect(err).toMatch(/^toolgate: the database at 127\.0\.0\.1:1 /)
    const both = await status({ DATABASE_URL_FILE: file, DATABASE_URL: 'pglite:' })
    expect(both.code).toBe(78)
    expect(err + both.err).not.toContain('hunter2')
  })

  it('leaves a directory alone that holds something else', async () => {
    const foreign = join(dataDir, 'foreign')
    mkdirSync(foreign)
    writeFileSync(join(foreign, 'thesis.tex'), 'years of work')
    const { code } = await runToolgate(['db', 'migrate'], { DATABASE_URL: `pglite:${foreign}` })
    expect(code).toBe(78)
    expect(existsSync(join(foreign, 'thesis.tex'))).toBe(true)
  })
})

describe('migrations', () => {
  it('are refused when the database is newer or was migrated differently, and roll back as a whole', async () => {
    const client = await PGlite.create({ dataDir: join(dataDir, 'postgres') })
    const kysely = database(pgliteDialect(client))
    const next = { name: '9998-next', statements: ['create table next_one (id integer)'] }
    const broken = {
      name: '9999-broken',
      statements: ['create table more (id integer)', 'select no_such_function()'],
    }
    const migrator = (list: typeof MIGRATIONS) => createMigrator(kysely, list)
    try {
      await expect(migrator([...MIGRATIONS, next, broken]).migrate()).rejects.toThrow(/no_such_function/)
      expect((await migrator([...MIGRATIONS, next]).status()).at(-1)?.appliedAt).toBeUndefined()
      expect(await migrator([...MIGRATIONS, next]).migrate()).toEqual(['9998-next'])
      await expect(migrator(MIGRATIONS).migrate()).rejects.toThrow(/"9998-next".*newer version/)
      const edited = { ...next, statements: ['create table next_one (id bigint)'] }
      await expect(migrator([...MIGRATIONS, edited]).migrate()).rejects.toThrow(
        /the SQL statements of migration "9998-next" in this build differ/,
      )
    } finally {
      await client.close()
    }
  })
})
