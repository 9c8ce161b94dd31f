/** The signing keys in a worker thread, which are replaced when others arrive, and the list in which they are sent. */
import type { KeyRing, RingKey } from '../../../data-plane/sessions/key-ring.ts'

export class PostedKeys implements KeyRing {
  #keys: readonly RingKey[]

  /** @param keys newest first, at least one */
  constructor(keys: readonly RingKey[]) {
    this.#keys = keys
  }

  replace(keys: readonly RingKey[]): void {
    this.#keys = keys
  }

  current(): RingKey {
    return this.#keys[0]!
  }

  find(id: number): RingKey | undefined {
    return this.#keys.find(key => key.id === id)
  }
}

/** All keys of a ring, newest first. */
export function keysOf(ring: KeyRing): readonly RingKey[] {
  const current = ring.current()
  const others: RingKey[] = []
  for (let id = 0; id < 256; id++) {
    const key = ring.find(id)
    if (key !== undefined && key.id !== current.id) others.push(key)
  }
  return [current, ...others.sort((a, b) => b.createdAtMs - a.createdAtMs)]
}
