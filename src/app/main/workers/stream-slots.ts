/** Serves slots for event streams to worker threads, and releases those of a thread that ends. */

import type { PortLine } from '../../../base/threads/port-line.ts'
import type {
  StreamRefusal,
  StreamRequest,
  StreamSlots,
} from '../../../data-plane/http/mcp/stream-limiter.ts'

/** Event streams are counted for the whole process, by the main thread. */
export function slotsInMainThread(line: PortLine): StreamSlots {
  const evictions = new Map<number, () => void>()
  let asked = 0
  line.serve({ 'place.evict': (number: number) => evictions.get(number)?.() })
  return {
    async open(request, evict) {
      const number = ++asked
      evictions.set(number, evict)
      const refusal = await line
        .ask<StreamRefusal | undefined>('place.take', number, request)
        .catch(error => {
          evictions.delete(number)
          // the main thread may take it later than this thread waits
          line.notify('place.give', number)
          throw error
        })
      if (refusal !== undefined) evictions.delete(number)
      return (
        refusal ??
        (() => {
          if (evictions.delete(number)) line.notify('place.give', number)
        })
      )
    },
  }
}

export class StreamSlotOwner {
  readonly #places: StreamSlots

  constructor(places: StreamSlots) {
    this.#places = places
  }

  serve(line: PortLine): void {
    const held = new Map<number, () => void>()
    line.serve({
      'place.take': async (number: number, request: StreamRequest): Promise<StreamRefusal | undefined> => {
        const place = await this.#places.open(request, () => line.notify('place.evict', number))
        if (typeof place === 'string') return place
        held.set(number, place)
        return undefined
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
