/** A thread that asks the main thread for sessions or slots of streams, as a serving thread does. Started by `measure-asks.ts`; it measures nothing. */
import { type MessagePort, workerData } from 'node:worker_threads'
import { PortLine } from '../../src/shared/threads/port-line.ts'

export interface AskerData {
  readonly port: MessagePort
  readonly what: 'session' | 'stream'
  readonly sessions: readonly string[]
  readonly asks: number
  readonly pending: number
}

const { port, what, sessions, asks, pending } = workerData as AskerData
const line = new PortLine(port, {}, 60_000)
let asked = 0
await Promise.all(Array.from({ length: pending }, askOn))
line.close()

async function askOn(): Promise<void> {
  while (asked < asks) {
    const at = asked++
    if (what === 'session') {
      const found = await line.ask('session.find', sessions[at % sessions.length], Date.now())
      if (found === undefined) throw new Error('a session of the measurement is unknown')
    } else {
      const place = await line.ask<string | number>(
        'place.take',
        `10.0.${at & 255}.${(at >> 8) & 255}`,
        'acme',
        Date.now(),
      )
      if (typeof place === 'string') throw new Error(`a stream of the measurement was refused: ${place}`)
      line.notify('place.give', place)
    }
  }
}
