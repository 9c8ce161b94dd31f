/** `kill -9` of a process that records events: no acknowledged event is lost, with any durability. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { decodeEvent } from '../../../../src/data-plane/metering/event-codec.ts'
import { adoptSegments } from '../../../../src/data-plane/metering/spool/adopt-segments.ts'
import { bundledScript } from '../../../fixtures/bundled-script.ts'
import { aReader, drain, spoolDirectory } from '../../../fixtures/metering.ts'

const CHILD = join(import.meta.dirname, 'kill-child.ts')
const ROUNDS = process.env.SOAK === '1' ? 20 : 2

/** @returns the acknowledged ids */
async function killed(directory: string, durability: string, round: number): Promise<readonly string[]> {
  const child = spawn(process.execPath, [await bundledScript(CHILD), directory, durability], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ended = once(child, 'close')
  let out = ''
  child.stdout.on('data', (chunk: Buffer) => {
    // some 150 events in, at another moment each time
    if (out.length < 600 && out.length + chunk.length >= 600)
      setTimeout(() => child.kill('SIGKILL'), 3 * round)
    out += chunk.toString()
  })
  await ended
  return out.split('\n').slice(0, -1)
}

describe.each(['sync', 'batch'])('a kill with `%s`', durability => {
  it('loses no acknowledged event', { timeout: 20_000 + 5000 * ROUNDS }, async () => {
    let all = 0
    for (let round = 0; round < ROUNDS; round++) {
      const directory = spoolDirectory()
      const reported = await killed(directory, durability, round)
      adoptSegments(directory)
      const kept = new Set(drain(aReader(directory)).map(bytes => decodeEvent(bytes).request_id))
      expect(reported.length).toBeGreaterThan(50)
      expect(reported.filter(id => !kept.has(id))).toEqual([])
      all += reported.length
    }
    if (ROUNDS > 2) process.stdout.write(`${durability}: 0 of ${all} lost in ${ROUNDS} kills\n`)
  })
})
