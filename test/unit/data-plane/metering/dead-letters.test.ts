/** The file of dead letters: its lines, its mode, and its bound. */
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { DEAD_LETTERS, keepDeadLetter } from '../../../../src/data-plane/metering/dead-letters.ts'
import { decodeEvent } from '../../../../src/data-plane/metering/event-codec.ts'
import { aCall, anOrigin, aReader, aWriter, drain, spoolDirectory } from '../../../fixtures/metering.ts'

it('keeps the newest events, in two private files of a bounded size', async () => {
  const directory = spoolDirectory()
  const writer = aWriter(directory)
  for (let number = 1; number <= 9; number++)
    void writer.record(anOrigin(), aCall({ requestId: `req-${number}` }))
  writer.close()
  const events = drain(aReader(directory)).map(decodeEvent)
  for (const event of events) await keepDeadLetter(directory, 2_000, event, 'MESSAGE_TOO_LARGE')
  const files = [`${DEAD_LETTERS}.1`, DEAD_LETTERS].map(name => join(directory, name))
  for (const file of files) {
    const { size, mode } = statSync(file)
    expect(size).toBeLessThanOrEqual(2_000)
    expect(mode & 0o777).toBe(0o600)
  }
  const kept = files.flatMap(file => readFileSync(file, 'utf8').trimEnd().split('\n'))
  expect(kept.map(line => JSON.parse(line).event)).toEqual(events.slice(-kept.length))
  expect(kept.length).toBeGreaterThan(2)
})
