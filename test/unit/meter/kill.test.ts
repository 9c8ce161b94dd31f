/** `kill -9` of a process that records events: `sync` loses none that was told, `batch` none but those of the last 5 ms. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describe, expect, it } from 'vitest'
import { decodeEvent } from '../../../src/meter/event-codec.ts'
import { adoptSegments } from '../../../src/meter/spool/adopt-segments.ts'
import { aReader, drain, spoolDirectory } from '../../fixtures/metering.ts'

const TSX = pathToFileURL(createRequire(import.meta.url).resolve('tsx')).href
const CHILD = join(import.meta.dirname, 'kill-child.ts')
const ROUNDS = process.env.SOAK === '1' ? 20 : 2
const WINDOW_NS = 5_000_000n

/** @returns what was told: id → when, in the child's own clock */
async function killed(directory: string, durability: string, round: number): Promise<Map<string, bigint>> {
  const child = spawn(process.execPath, ['--import', TSX, CHILD, directory, durability], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ended = once(child, 'close')
  let out = ''
  child.stdout.on('data', (chunk: Buffer) => {
    // some 100 events in, at another moment each time
    if (out.length < 3000 && out.length + chunk.length >= 3000)
      setTimeout(() => child.kill('SIGKILL'), 3 * round)
    out += chunk.toString()
  })
  await ended
  const lines = out.split('\n').slice(0, -1)
  return new Map(lines.map(line => [line.split(' ')[0]!, BigInt(line.split(' ')[1]!)]))
}

describe.each(['sync', 'batch'])('a kill with `%s`', durability => {
  it('loses what it may, and no more', { timeout: 20_000 + 5000 * ROUNDS }, async () => {
    let lost = 0
    let all = 0
    for (let round = 0; round < ROUNDS; round++) {
      const directory = spoolDirectory()
      const told = await killed(directory, durability, round)
      adoptSegments(directory)
      const kept = new Set(drain(aReader(directory)).map(bytes => decodeEvent(bytes).request_id))
      const missing = [...told].filter(([id]) => !kept.has(id))
      const last = [...told.values()].at(-1)!
      expect(told.size).toBeGreaterThan(50)
      if (durability === 'sync') expect(missing).toEqual([])
      for (const [id, at] of missing) expect(last - at, id).toBeLessThan(WINDOW_NS)
      lost += missing.length
      all += told.size
    }
    if (ROUNDS > 2) process.stdout.write(`${durability}: ${lost} of ${all} lost in ${ROUNDS} kills\n`)
  })
})
