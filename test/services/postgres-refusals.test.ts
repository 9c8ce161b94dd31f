/** A control plane that PostgreSQL refuses for a reason that waiting cannot correct ends its start with exit code 78. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  type Cluster,
  POSTGRES_HINT,
  startCluster,
  WITHOUT_POSTGRES,
} from '../contract/store/postgres-cluster.ts'
import { processEnv } from '../fixtures/process-env.ts'

const PASSWORD = 'right-password'

describe.skipIf(WITHOUT_POSTGRES)(`a control plane that PostgreSQL refuses${POSTGRES_HINT}`, () => {
  let cluster: Cluster
  let address: URL
  let dataDir: string

  /** The role `guarded` has to give its password. */
  beforeAll(async () => {
    dataDir = mkdtempSync(join(tmpdir(), 'toolgate-pg-refusals-'))
    cluster = await startCluster()
    address = new URL(await cluster.database('guarded_data', 'guarded'))
    const admin = new pg.Client({ connectionString: `postgres://postgres@${address.host}/postgres` })
    await admin.connect()
    await admin.query(`alter role guarded password '${PASSWORD}'`)
    const { rows } = await admin.query<{ hba_file: string }>('show hba_file')
    const file = rows[0]!.hba_file
    writeFileSync(file, `host all guarded 127.0.0.1/32 scram-sha-256\n${readFileSync(file, 'utf8')}`)
    await admin.query('select pg_reload_conf()')
    await admin.end()
  }, 120_000)
  afterAll(async () => {
    await cluster?.stop()
    rmSync(dataDir, { recursive: true, force: true })
  })

  async function serve(url: string): Promise<{ code: number | null; text: string }> {
    const child = spawn(process.execPath, [join(import.meta.dirname, '../../dist/cli/index.js'), 'serve'], {
      env: {
        ...processEnv(),
        ROLE: 'control-plane',
        GATEWAY_URL: 'http://gateway.example',
        API_PORT: '0',
        METRICS_PORT: '0',
        AUTH_ISSUER: 'http://127.0.0.1:9/realms/none',
        DATABASE_URL: url,
        DATA_DIR: dataDir,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let text = ''
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', chunk => {
        text += chunk
      })
    const timer = setTimeout(() => child.kill('SIGKILL'), 50_000)
    const [code] = (await once(child, 'close')) as [number | null]
    clearTimeout(timer)
    return { code, text }
  }

  it.each([
    ['a wrong password', 'guarded:wrong-password', 'guarded_data', 'password authentication failed'],
    ['a missing database', `guarded:${PASSWORD}`, 'no_such_data', 'does not exist'],
  ])(
    '%s: the start ends with DATABASE_URL and the reason, and without the password',
    async (_, user, name, reason) => {
      const { code, text } = await serve(`postgres://${user}@${address.host}/${name}`)
      expect(text).toContain('DATABASE_URL')
      expect(text).toContain(reason)
      expect(text).not.toContain('-password')
      expect(code).toBe(78)
    },
    60_000,
  )
})
