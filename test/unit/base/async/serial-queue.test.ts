/** The order of queued tasks, and what a failed one does to the others. */
import { setImmediate as turn } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { SerialQueue } from '../../../../src/base/async/serial-queue.ts'

describe('a serial queue', () => {
  it('runs one task at a time, in order', async () => {
    const queue = new SerialQueue()
    const events: string[] = []
    const task = (name: string) => async () => {
      events.push(`${name} starts`)
      await turn()
      events.push(`${name} ends`)
      return name
    }
    expect(await Promise.all([queue.run(task('a')), queue.run(task('b'))])).toEqual(['a', 'b'])
    expect(events).toEqual(['a starts', 'a ends', 'b starts', 'b ends'])
  })

  it('rejects with the error of the task, and runs the next one', async () => {
    const queue = new SerialQueue()
    const failed = queue.run(() => Promise.reject(new Error('no space')))
    const next = queue.run(() => 'done')
    await expect(failed).rejects.toThrow('no space')
    expect(await next).toBe('done')
  })

  it('turns an exception into a rejection', async () => {
    const queue = new SerialQueue()
    const failed = queue.run(() => {
      throw new Error('no space')
    })
    await expect(failed).rejects.toThrow('no space')
  })

  it('is drained when the tasks queued by tasks have ended too', async () => {
    const queue = new SerialQueue()
    const events: string[] = []
    void queue.run(async () => {
      await turn()
      void queue.run(async () => {
        await turn()
        events.push('second')
      })
      events.push('first')
    })
    await queue.drain()
    expect(events).toEqual(['first', 'second'])
  })
})
