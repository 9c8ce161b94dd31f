/** A Later passes its value on at once, gives the same results as a Promise, and loses no error. */
import fc from 'fast-check'
import { expect, it, vi } from 'vitest'
import { Later } from '../../../../src/shared/call/later.ts'

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

it('reports an error without a reader as an unhandled rejection', async () => {
  const others = process.listeners('unhandledRejection')
  process.removeAllListeners('unhandledRejection')
  const reported: unknown[] = []
  process.on('unhandledRejection', error => reported.push(error))
  try {
    new Later<number>().reject(new Error('never read'))
    const read = new Later<number>()
    read.reject(new Error('read'))
    await expect(read).rejects.toThrow('read')
    const later = new Later<number>()
    void later.then(() => {
      throw new Error('lost')
    })
    later.resolve(1)
    await vi.waitFor(() => expect(reported).toEqual([new Error('never read'), new Error('lost')]), 15_000)
  } finally {
    process.removeAllListeners('unhandledRejection')
    for (const listener of others) process.on('unhandledRejection', listener)
  }
})
