/** A linked list whose items hold the links, so that adding and removing allocate no objects. It does not check which list an item is in. */

export interface Linked {
  /** Both are the chain's to write. */
  previous: Linked | undefined
  next: Linked | undefined
}

/** In the order of appending. Who uses it knows which items are in it. */
export class Chain<T extends Linked> {
  #first: T | undefined
  #last: T | undefined

  get first(): T | undefined {
    return this.#first
  }

  /** A new list, in order: items may be removed while it is read. */
  items(): T[] {
    const items: T[] = []
    for (let item: Linked | undefined = this.#first; item !== undefined; item = item.next)
      items.push(item as T)
    return items
  }

  /** @param item is in no chain */
  append(item: T): void {
    item.previous = this.#last
    if (this.#last === undefined) this.#first = item
    else this.#last.next = item
    this.#last = item
  }

  /** @param item is in this chain */
  remove(item: T): void {
    const { previous, next } = item
    if (previous === undefined) this.#first = next as T | undefined
    else previous.next = next
    if (next === undefined) this.#last = previous as T | undefined
    else next.previous = previous
    // a dead item that is old would keep its neighbour alive
    item.previous = undefined
    item.next = undefined
  }
}
