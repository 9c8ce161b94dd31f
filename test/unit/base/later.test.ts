/** A Later passes its value on at once, gives the same results as a Promise, and loses no error. */
import fc from 'fast-check'
import { expect, it, vi } from 'vitest'
import { Later } from '../../../src/base/later.ts'

it('calls its reader when the value arrives, and at once when it is there', () => {
  const seen: string[] = []
  const later = new Later<string>()
  later.then(value => seen.push(value))
  later.resolve('first')
  later.resolve('second')
  const known = new Later<string>()
  known.resolve('known')
  known.then(value => seen.push(value))
  expect(seen).toEqual(['first', 'known'])
})

type Step = 'value' | 'later' | 'promise' | 'throw' | 'catch'

function chain<P extends PromiseLike<number>>(start: P, steps: readonly Step[]): PromiseLike<number> {
  let at: PromiseLike<number> = start
  for (const step of steps)
    at =
      step === 'catch'
        ? at.then(undefined, (error: Error) => error.message.length)
        : at.then(value => {
            if (step === 'throw') throw new Error(`at ${value}`)
            if (step === 'promise') return Promise.resolve(value + 1)
            if (step === 'value') return value + 2
            const inner = new Later<number>()
            queueMicrotask(() => inner.resolve(value + 3))
            return inner
          })
  return at
}

it('ends as a chain of Promises does', async () => {
  const step = fc.constantFrom<Step>('value', 'later', 'promise', 'throw', 'catch')
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 6 }), fc.boolean(), async (steps, early) => {
      const later = new Later<number>()
      if (early) later.resolve(1)
      const [ours] = [Promise.allSettled([chain(later, steps)]), later.resolve(1)]
      expect(await ours).toEqual(await Promise.allSettled([chain(Promise.resolve(1), steps)]))
    }),
    { numRuns: 300 },
  )
})

it('can be awaited, and has one reader', async () => {
  const later = new Later<number>()
  setImmediate(() => later.resolve(7))
  expect(await later).toBe(7)
  expect(() => later.then()).toThrow(/already has a reader, and only one reader is allowed/)
})

it('passes value or error on to a reader that is an object, early or late, and to one alone', () => {
  const seen: unknown[] = []
  const reader = {
    onValue: (value: number) => seen.push(value),
    onError: (error: unknown) => seen.push(error),
  }
  const late = new Later<number>()
  late.readBy(reader)
  late.resolve(1)
  late.resolve(2)
  const early = new Later<number>()
  early.reject('wrong')
  early.readBy(reader)
  expect(seen).toEqual([1, 'wrong'])
  expect(() => late.readBy(reader)).toThrow(/only one reader is allowed/)
  expect(() => late.then()).toThrow(/only one reader is allowed/)
})

it('settles as another Later, as a Promise, or with a value', async () => {
  const [one, other, third, fourth] = [
    new Later<number>(),
    new Later<number>(),
    new Later<number>(),
    new Later<number>(),
  ]
  one.settleAs(other)
  other.resolve(5)
  expect(await one).toBe(5)
  third.settleAs(Promise.reject(new Error('boom')))
  await expect(third).rejects.toThrow('boom')
  fourth.settleAs(6)
  expect(await fourth).toBe(6)
})

/** Errors that nothing has taken over. */
async function unhandled(run: () => Promise<void> | void, count: number): Promise<readonly unknown[]> {
  const others = process.listeners('unhandledRejection')
  process.removeAllListeners('unhandledRejection')
  const reported: unknown[] = []
  process.on('unhandledRejection', error => reported.push(error))
  try {
    await run()
    await vi.waitFor(() => expect(reported).toHaveLength(count), 15_000)
    return reported
  } finally {
    process.removeAllListeners('unhandledRejection')
    for (const listener of others) process.on('unhandledRejection', listener)
  }
}

it('reports what a reader throws as an unhandled rejection', async () => {
  const throwing = () => {
    throw new Error('of the reader')
  }
  const reported = await unhandled(() => {
    const later = new Later<number>()
    later.readBy({ onValue: throwing, onError: throwing })
    later.resolve(1)
  }, 1)
  expect(reported).toEqual([new Error('of the reader')])
})

it('reports an error without a reader as an unhandled rejection', async () => {
  const reported = await unhandled(async () => {
    new Later<number>().reject(new Error('never read'))
    const read = new Later<number>()
    read.reject(new Error('read'))
    await expect(read).rejects.toThrow('read')
    const later = new Later<number>()
    void later.then(() => {
      throw new Error('lost')
    })
    later.resolve(1)
  }, 2)
  expect(reported).toEqual([new Error('never read'), new Error('lost')])
})
