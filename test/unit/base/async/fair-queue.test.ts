/** A queue in which owners take turns: their order, parts, those that may not be taken, and removal. */
import { expect, it } from 'vitest'
import { FairQueue, type Waiting } from '../../../../src/base/async/fair-queue.ts'

interface Item extends Waiting {
  readonly name: string
}

function item(owner: string, part: string, name = `${owner}${part}`): Item {
  return { party: { owner, part }, name, previous: undefined, next: undefined }
}

function queueOf(...items: Item[]): FairQueue<Item> {
  const queue = new FairQueue<Item>()
  for (const each of items) queue.append(each)
  return queue
}

function takeAll(queue: FairQueue<Item>, mayTake = (_: Item) => true): string[] {
  const names: string[] = []
  for (let next = queue.take(mayTake); next !== undefined; next = queue.take(mayTake)) names.push(next.name)
  return names
}

it('owners take turns, however many items one of them has', () => {
  const queue = queueOf(...[1, 2, 3, 4].map(n => item('a', '', `a${n}`)), item('b', ''), item('c', ''))
  expect(takeAll(queue)).toEqual(['a1', 'b', 'c', 'a2', 'a3', 'a4'])
  expect(queue.size).toBe(0)
})

it('parts take turns within those of their owner', () => {
  const queue = queueOf(
    item('a', '1', 'a1'),
    item('a', '1', 'a1 again'),
    item('a', '2', 'a2'),
    item('b', '1', 'b1'),
    item('b', '1', 'b1 again'),
  )
  expect(takeAll(queue)).toEqual(['a1', 'b1', 'a2', 'b1 again', 'a1 again'])
})

it('one that may not be taken keeps its place', () => {
  const queue = queueOf(item('a', '', 'a1'), item('b', '', 'b1'), item('a', '', 'a2'))
  expect(queue.take(({ party }) => party.owner === 'b')?.name).toBe('b1')
  expect(takeAll(queue, () => false)).toEqual([])
  expect(takeAll(queue)).toEqual(['a1', 'a2'])
})

it('items are removed from any place', () => {
  const [first, middle, last, alone] = [
    item('a', '', 'a1'),
    item('a', '', 'a2'),
    item('a', '', 'a3'),
    item('b', ''),
  ]
  const queue = queueOf(first, middle, last, alone)
  queue.remove(middle)
  queue.remove(alone)
  expect(queue.size).toBe(2)
  expect(takeAll(queue)).toEqual(['a1', 'a3'])
})
