/** A gateway with little memory that is asked for many large responses, or whose clients do not read: it lives, refuses what it cannot hold, and serves other tenants. */
import { mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { IdleStreams } from '../fixtures/idle-streams.ts'
import { neededProgram } from '../fixtures/needed-program.ts'
import { prepareSubject, type Subject } from './subject.ts'

const MIB = 1024 * 1024
/** `SOAK=1`: for a minute, with as many streams as a gateway that is well used. */
const SOAK = process.env.SOAK === '1'
const STREAMS = SOAK ? 3_000 : 300
const LOAD_MS = SOAK ? 60_000 : 0
const V1 = '/sys/fs/cgroup/memory'
const V2 = '/sys/fs/cgroup'

let subject: Subject | undefined
const ends: (() => void)[] = []
afterEach(async () => {
  await subject?.close()
  subject = undefined
  for (const end of ends.splice(0)) end()
})

/** The folder of a new memory cgroup with this limit. @throws Error where this process may not make one */
function makeCgroup(bytes: number): string {
  const isV1 = readFileSync('/proc/self/cgroup', 'utf8').includes(':memory:')
  const folder = `${isV1 ? V1 : V2}/toolgate-test-${process.pid}`
  mkdirSync(folder)
  ends.push(() => rmdirSync(folder))
  writeFileSync(`${folder}/${isV1 ? 'memory.limit_in_bytes' : 'memory.max'}`, String(bytes))
  return folder
}

function hasCgroups(): boolean {
  try {
    makeCgroup(512 * MIB)
    return true
  } catch {
    return false
  } finally {
    for (const end of ends.splice(0)) end()
  }
}

const inCgroup = (bytes: number) => (): readonly string[] => [
  'sh',
  '-c',
  `echo $$ > ${makeCgroup(bytes)}/cgroup.procs && exec "$@"`,
  'sh',
]
const NEEDS = 'needs root and a writable /sys/fs/cgroup'
const isCgroupRoot = hasCgroups()
const PRLIMIT = neededProgram('prlimit', 'util-linux')

interface Limit {
  readonly limit: string
  readonly launcher: () => readonly string[]
  readonly isAvailable: boolean
  readonly env: Record<string, string>
}

/** A row of the table in docs/sizing.md. */
const row = (mebibytes: number, role: 'all' | 'gateway', workers: number): Limit => ({
  limit: `a memory cgroup of ${mebibytes} MiB, ROLE=${role}, ${workers} threads (${NEEDS})`,
  launcher: inCgroup(mebibytes * MIB),
  isAvailable: isCgroupRoot,
  env: { ROLE: role, WORKERS: String(workers) },
})

const LIMITS: readonly Limit[] = [
  {
    limit: `RLIMIT_DATA of 600 MiB${PRLIMIT.hint}`,
    launcher: () => ['prlimit', `--data=${600 * MIB}`, '--'],
    isAvailable: process.platform === 'linux' && !PRLIMIT.isMissing,
    env: {},
  },
  row(512, 'gateway', 1),
  row(768, 'gateway', 2),
  row(768, 'all', 1),
  row(768, 'all', 2),
]

/** Calls `small` as another tenant as long as the work lasts. @returns the statuses */
async function serveOthers(work: Promise<unknown>): Promise<ReadonlySet<number>> {
  const statuses = new Set<number>()
  let isOver = false
  const end = (): void => {
    isOver = true
  }
  work.then(end, end)
  while (!isOver) statuses.add((await subject!.callTool('small', subject!.foreignToken)).status)
  await work
  return statuses
}

for (const { limit, launcher, isAvailable, env } of LIMITS)
  describe.skipIf(!isAvailable)(`under ${limit}`, () => {
    it(`${STREAMS} streams, and 120 large responses at once for one tenant: the process lives, refuses most of them, and serves another tenant`, {
      timeout: 60_000 + 2 * LOAD_MS,
    }, async () => {
      subject = await prepareSubject({ launcher: launcher(), sharedTools: ['large', 'small'], env })
      const { callTool, unlimitedToken: token } = subject
      await subject.process.start()
      const streams = new IdleStreams(`${subject.url}/mcp/sse`)
      ends.push(() => streams.close())
      await streams.add(STREAMS, () => ({ authorization: `Bearer ${token}` }))
      const until = performance.now() + LOAD_MS
      do {
        const large = Promise.all(Array.from({ length: 120 }, () => callTool('large', token)))
        expect(await serveOthers(large)).toEqual(new Set([200]))
        const statuses = (await large).map(({ status }) => status)
        expect(new Set(statuses)).toEqual(new Set([200, 503]))
        const refused = (await large).find(({ status }) => status === 503)!
        expect(refused.text).toMatch(/"error":"overloaded".*HELD_BYTES_MAX/)
        expect(refused.retryAfterSecs).toBe(1)
      } while (performance.now() < until)
      expect((await callTool('large', token)).status).toBe(200)
      expect(await subject.metrics()).toMatch(/^platform_held_bytes 0$/m)
      expect(await subject.metrics()).toMatch(new RegExp(`^platform_streams ${STREAMS}$`, 'm'))
    })
  })

describe.each(['uws', 'node'])(
  'clients that read nothing, or 20 KB a second, of a huge response (%s)',
  server => {
    it('lose their connections in time, and another tenant is served meanwhile', async () => {
      subject = await prepareSubject({
        sharedTools: ['huge', 'small'],
        env: {
          HTTP_SERVER: server,
          RESPONSE_TIMEOUT: '3s',
          BACKEND_RESPONSE_MAX: '32MiB',
          HELD_BYTES_MAX: '512MiB',
        },
      })
      await subject.process.start()
      const readers = [0, 20_000].map(bytesPerSecond => readSlowly(bytesPerSecond))
      try {
        const held = async (): Promise<number> =>
          Number(/^platform_held_bytes (\d+)$/m.exec(await subject!.metrics())![1])
        await expect.poll(held).toBeGreaterThan(128 * MIB)
        // one of the two may be cut before the other has received anything
        const cut = async (): Promise<readonly number[]> => {
          const text = await subject!.metrics()
          const refused = /^platform_connections_refused_total\{reason="slow_reader"\} (\d+)$/m.exec(text)
          return [Number(refused?.[1] ?? 0), Number(/^platform_held_bytes (\d+)$/m.exec(text)![1])]
        }
        expect(await serveOthers(expect.poll(cut).toEqual([2, 0]))).toEqual(new Set([200]))
      } finally {
        for (const reader of readers) reader.destroy()
      }
    })
  },
)

/** A client that calls `huge` and reads so much of the response. */
function readSlowly(bytesPerSecond: number): Socket {
  const body = JSON.stringify({ name: 'huge', arguments: {} })
  const head = [
    'POST /mcp/tools/call HTTP/1.1',
    'host: localhost',
    'content-type: application/json',
    `authorization: Bearer ${subject!.unlimitedToken}`,
    `content-length: ${body.length}`,
  ]
  const socket = connect(Number(new URL(subject!.url).port), '127.0.0.1')
  socket.on('error', () => {}).write(`${head.join('\r\n')}\r\n\r\n${body}`)
  if (bytesPerSecond > 0) {
    const timer = setInterval(() => socket.read(bytesPerSecond), 1000)
    socket.on('readable', () => {}).on('close', () => clearInterval(timer))
  }
  return socket
}
