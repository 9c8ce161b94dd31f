/** Serves slots for event streams to worker threads, and releases those of a thread that ends. */

import type { PortLine } from '../../../base/threads/port-line.ts'
import type { StreamRefusal, StreamSlots } from '../../../data-plane/http/mcp/stream-limiter.ts'

export class StreamSlotOwner {
  readonly #places: StreamSlots
  #taken = 0

  constructor(places: StreamSlots) {
    this.#places = places
  }

  serve(line: PortLine): void {
    const held = new Map<number, () => void>()
    line.serve({
      'place.take': async (
        ip: string,
        tenant: string | undefined,
        nowMs: number,
      ): Promise<StreamRefusal | number> => {
        const place = await this.#places.open(ip, tenant, nowMs)
        if (typeof place === 'string') return place
        const number = ++this.#taken
        held.set(number, place)
        return number
      },
      'place.give': (number: number) => {
        held.get(number)?.()
        held.delete(number)
      },
    })
    line.onClose(() => {
      for (const give of held.values()) give()
      held.clear()
    })
  }
}
