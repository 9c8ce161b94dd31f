/** Records events until it is killed, and acknowledges each when its response would be sent: after `record`, or after its Promise. */
import { writeSync } from 'node:fs'
import { aCall, anOrigin, aWriter } from '../../../fixtures/metering.ts'

const [directory, durability] = process.argv.slice(2)
const origin = anOrigin()
const writer = aWriter(directory!, { durability: durability as 'batch' | 'sync', segmentBytes: 200_000 })

/** A synchronous write to a pipe: what is written before the kill arrives. */
function notify(id: number): void {
  writeSync(1, `${id}\n`)
}

let id = 0
function turn(): void {
  for (let count = 0; count < 5; count++) {
    const own = ++id
    const held = writer.record(origin, aCall({ requestId: String(own) }))
    if (held === undefined) notify(own)
    else void held.then(() => notify(own))
  }
  setTimeout(turn, 0)
}
turn()
