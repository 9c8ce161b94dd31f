/** A full disk, simulated by a limit on file sizes: `batch` accepts calls while events fit in memory, `sync` none; losses are counted, both recover. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { createInterface, type Interface } from 'node:readline'
import { pathToFileURL } from 'node:url'
import { afterEach, describe, expect, it } from 'vitest'
import { decodeEvent } from '../../../../src/data-plane/metering/event-codec.ts'
import { aReader, drain, spoolDirectory } from '../../../fixtures/metering.ts'
import { neededProgram } from '../../../fixtures/needed-program.ts'

interface State {
  readonly events: number
  readonly dropped: number
  readonly fault?: string
  readonly ready: boolean
  readonly released: number
  readonly startedMs: number
}

const TSX = pathToFileURL(createRequire(import.meta.url).resolve('tsx')).href
const CHILD = join(import.meta.dirname, 'full-disk-child.ts')
const PRLIMIT = neededProgram('prlimit', 'util-linux')
const SOON = { timeout: 15_000, interval: 20 }

let child: ChildProcess
let lines: AsyncIterator<string>
let reader: Interface

/** @param blocks of 512 bytes that a file may have at first */
function start(directory: string, durability: string, blocks: number): void {
  const command = `ulimit -S -f ${blocks}; exec "$0" --import "$1" "$2" "$3" "$4"`
  child = spawn('sh', ['-c', command, process.execPath, TSX, CHILD, directory, durability], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  reader = createInterface({ input: child.stdout! })
  lines = reader[Symbol.asyncIterator]()
}

async function record(count: number): Promise<State> {
  child.stdin!.write(`${count}\n`)
  return JSON.parse((await lines.next()).value as string) as State
}

/** The disk has space again. */
function evictForSpace(): void {
  const { status } = spawnSync('prlimit', ['--pid', String(child.pid), '--fsize=unlimited'])
  if (status !== 0) throw new Error('prlimit (util-linux) could not raise the limit')
}

async function close(): Promise<void> {
  const gone = once(child, 'exit')
  child.stdin!.write('close\n')
  await gone
}

afterEach(() => void child.kill('SIGKILL'))

describe.skipIf(PRLIMIT.isMissing)(`a full disk${PRLIMIT.hint}`, () => {
  it('with `batch`: events wait in memory; when they no longer fit, calls are refused and lost events are counted', async () => {
    const directory = spoolDirectory()
    start(directory, 'batch', 40)
    const before = await record(20)
    expect(before).toMatchObject({ events: 20, dropped: 0, ready: true })
    expect(before.startedMs).toBeLessThan(2000)
    await record(200)
    await expect.poll(() => record(0), SOON).toMatchObject({ fault: 'EFBIG', dropped: 0, ready: true })
    expect(await record(20_000)).toMatchObject({ dropped: 0, ready: true })
    // the child records them all the same
    const full = await record(200_000)
    expect(full).toMatchObject({ ready: false })
    expect(full.dropped).toBeGreaterThan(0)
    evictForSpace()
    await expect.poll(async () => (await record(0)).fault, SOON).toBeUndefined()
    const after = await record(10)
    expect(after.ready).toBe(true)
    expect(after.dropped).toBe(full.dropped)
    await close()
    const spool = aReader(directory)
    const events = drain(spool).map(decodeEvent)
    expect(events).toHaveLength(after.events - after.dropped)
    expect(spool.counts.damaged).toBe(0)
    expect(events.at(-1)!.sequence).toBe(after.events)
  }, 60_000)

  it('with `sync`: no further calls are accepted, and pending responses are sent when their events are on disk', async () => {
    const directory = spoolDirectory()
    start(directory, 'sync', 40)
    await record(20)
    await expect.poll(async () => (await record(0)).released, SOON).toBe(20)
    await record(200)
    await expect.poll(() => record(0), SOON).toMatchObject({ fault: 'EFBIG', ready: false, released: 20 })
    evictForSpace()
    await expect.poll(() => record(0), SOON).toMatchObject({ ready: true, released: 220, dropped: 0 })
    await close()
    expect(drain(aReader(directory))).toHaveLength(220)
  }, 60_000)

  it('from the start on: it still starts within 2 s', async () => {
    const directory = spoolDirectory()
    start(directory, 'batch', 0)
    const state = await record(5)
    await expect.poll(() => record(0), SOON).toMatchObject({ fault: 'EFBIG', dropped: 0 })
    expect(state.startedMs).toBeLessThan(2000)
    evictForSpace()
    await expect.poll(async () => (await record(0)).fault, SOON).toBeUndefined()
    await close()
    expect(drain(aReader(directory))).toHaveLength(5)
  }, 60_000)
})
