/** Records events on demand in a process whose files have a size limit, and reports its state. */
import { createInterface } from 'node:readline'
import { aCall, anOrigin, aWriter } from '../../../fixtures/metering.ts'

const [directory, durability] = process.argv.slice(2)
const startedAt = performance.now()
let fault: string | undefined
const writer = aWriter(directory!, {
  durability: durability as 'batch' | 'sync',
  onFault(error) {
    fault = (error as NodeJS.ErrnoException | undefined)?.code
  },
})
const startedMs = performance.now() - startedAt
let released = 0
let id = 0

for await (const line of createInterface({ input: process.stdin })) {
  for (let count = Number(line); count > 0; count--)
    void writer.record(anOrigin(), aCall({ requestId: String(++id) }))?.then(() => released++)
  if (line === 'close') break
  await new Promise(resolve => setTimeout(resolve, 20))
  process.stdout.write(
    `${JSON.stringify({ ...writer.counts, fault, ready: writer.ready, released, startedMs })}\n`,
  )
}
writer.close()
process.exit(0)
