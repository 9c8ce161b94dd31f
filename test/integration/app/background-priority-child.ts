/** A process that lowers the priority of V8's background threads, starts a thread, and reports the nice value of each thread. */
import { readdirSync, readFileSync } from 'node:fs'
import { Worker } from 'node:worker_threads'
import { lowerBackgroundPriority } from '../../../src/app/main/release-start-memory.ts'

lowerBackgroundPriority()
const later = new Worker('setInterval(() => {}, 1000)', { eval: true })
later.once('online', () => {
  const nices = Object.fromEntries(readdirSync('/proc/self/task').map(id => [id, niceOf(id)]))
  process.send!({ nices }, () => process.exit())
})

/** proc(5): the field 19 of stat, counted behind the name, which may contain spaces. */
function niceOf(id: string): number {
  const fields = readFileSync(`/proc/self/task/${id}/stat`, 'utf8').replace(/^.*\) /s, '')
  return Number(fields.split(' ')[16])
}
