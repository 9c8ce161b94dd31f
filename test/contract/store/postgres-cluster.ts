/** A private PostgreSQL cluster for one test file, with its own directory and port, which `stop` removes; and whether PostgreSQL is there. */
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  chownSync,
  copyFileSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { freePort } from '../../fixtures/free-ports.ts'

const DEBIAN = '/usr/lib/postgresql'

/** undefined where the Debian package is missing. */
export function postgresBinaries(): string | undefined {
  if (!existsSync(DEBIAN)) return undefined
  const versions = readdirSync(DEBIAN).sort((a, b) => Number(b) - Number(a))
  return versions.map(version => join(DEBIAN, version, 'bin')).find(bin => existsSync(join(bin, 'postgres')))
}

/** True when tests that need PostgreSQL are to be skipped; with REQUIRE_SERVICES=1 they run and fail instead. */
export const WITHOUT_POSTGRES = postgresBinaries() === undefined && process.env.REQUIRE_SERVICES !== '1'
export const POSTGRES_HINT = WITHOUT_POSTGRES ? ' (skipped: apt-get install postgresql)' : ''

export interface Cluster {
  /** Makes an empty database and returns its address. An unprivileged user owns it when `owner` is given. */
  database(name: string, owner?: string): Promise<string>
  /** Address of a database that was made. */
  address(name: string, owner?: string): string
  /** Names of the tables in it. */
  tables(name: string): Promise<string[]>
  /** Stops the server at once, as a crash does (`pg_ctl stop -m immediate`); the data stays. */
  crash(): Promise<void>
  /** Starts the server after `crash`. Resolves when it accepts queries. */
  resume(): Promise<void>
  stop(): Promise<void>
}

export interface ClusterTls {
  /** Paths; the key is copied. */
  readonly cert: string
  readonly key: string
  /** For client certificates. A user `toolgate` needs one with this common name, over TLS. */
  readonly ca: string
}

export async function startCluster(tls?: ClusterTls): Promise<Cluster> {
  const bin = postgresBinaries()
  if (bin === undefined) throw new Error('PostgreSQL is missing: apt-get install postgresql')
  const directory = mkdtempSync(join(tmpdir(), 'toolgate-pg-'))
  const port = await freePort()
  const asPostgres = serverUser()
  if (asPostgres !== undefined) execFileSync('chown', [`${asPostgres.uid}:${asPostgres.gid}`, directory])
  const data = join(directory, 'data')
  const options = { ...asPostgres, cwd: directory, stdio: 'ignore' as const }
  execFileSync(
    join(bin, 'initdb'),
    ['-D', data, '-A', 'trust', '-U', 'postgres', '-E', 'UTF8', '--no-sync'],
    options,
  )
  const encrypted = tls === undefined ? [] : encrypt(tls, directory, data, asPostgres)
  const spawnServer = () =>
    spawn(
      join(bin, 'postgres'),
      [
        '-D',
        data,
        '-k',
        directory,
        '-h',
        '127.0.0.1',
        '-p',
        String(port),
        '-c',
        'fsync=off',
        '-c',
        'max_connections=60',
        ...encrypted,
      ],
      options,
    )
  let server = spawnServer()
  const end = async (signal: 'SIGINT' | 'SIGQUIT') => {
    const ended = once(server, 'exit')
    server.kill(signal)
    await ended
  }
  const url = (database: string, user = 'postgres') => `postgres://${user}@127.0.0.1:${port}/${database}`
  await ready(url('postgres'))
  return {
    async database(name, owner) {
      if (owner !== undefined) await run(url('postgres'), `create role ${owner} login`)
      await run(url('postgres'), `create database ${name}${owner === undefined ? '' : ` owner ${owner}`}`)
      return url(name, owner)
    },
    address: url,
    async tables(name) {
      const rows = await run(
        url(name),
        `select table_name as name from information_schema.tables where table_schema = 'public'`,
      )
      return rows.map(row => String(row.name))
    },
    crash: () => end('SIGQUIT'),
    async resume() {
      server = spawnServer()
      await ready(url('postgres'))
    },
    async stop() {
      if (server.exitCode === null && server.signalCode === null) await end('SIGINT')
      rmSync(directory, { recursive: true, force: true })
    },
  }
}

/** @returns options of the server */
function encrypt(
  tls: ClusterTls,
  directory: string,
  data: string,
  owner: ReturnType<typeof serverUser>,
): string[] {
  const files = { ssl_cert_file: tls.cert, ssl_key_file: tls.key, ssl_ca_file: tls.ca }
  writeFileSync(
    join(data, 'pg_hba.conf'),
    'hostssl all toolgate all cert\nhost all toolgate all reject\nhost all all all trust\n',
  )
  return Object.entries({ ssl: 'on', ...files }).flatMap(([name, value]) => {
    if (name === 'ssl') return ['-c', 'ssl=on']
    const own = join(directory, name)
    copyFileSync(value, own)
    chmodSync(own, 0o600)
    if (owner !== undefined) chownSync(own, owner.uid, owner.gid)
    return ['-c', `${name}=${own}`]
  })
}

/** The user to run the server as, which refuses to run as root. */
export function serverUser(): { uid: number; gid: number } | undefined {
  return process.getuid?.() === 0 ? ids() : undefined
}

function ids(): { uid: number; gid: number } {
  const id = (flag: string) => Number(execFileSync('id', [flag, 'postgres'], { encoding: 'utf8' }))
  return { uid: id('-u'), gid: id('-g') }
}

/** Runs one statement on a connection that exists for it alone. */
export async function run(url: string, statement: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query<Record<string, unknown>>(statement)).rows
  } finally {
    await client.end()
  }
}

/** Resolves when the server accepts queries; throws the last error after 10 s. */
export async function ready(url: string): Promise<void> {
  for (let attempt = 0; ; attempt++) {
    try {
      await run(url, 'select 1')
      return
    } catch (error) {
      if (attempt === 100) throw error
      await sleep(100)
    }
  }
}
