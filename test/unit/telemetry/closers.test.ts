/** What has been started is closed in reverse, once; also what is added while the others are closed, or after. */
import { expect, it } from 'vitest'
import { Closers } from '../../../src/telemetry/closers.ts'
import { createLogger } from '../../../src/telemetry/logger.ts'

const open = (): { readonly closers: Closers; readonly closed: string[] } => ({
  closers: new Closers(createLogger('silent')),
  closed: [],
})

it('closes in reverse, once, whatever fails', async () => {
  const { closers, closed } = open()
  closers.add('first', () => void closed.push('first'))
  closers.add('failing', () => Promise.reject(new Error('broken')))
  closers.add('last', async () => void closed.push('last'))
  await closers.close()
  await closers.close()
  expect(closed).toEqual(['last', 'first'])
})

it('closes what a start adds that goes on while the rest is closed', async () => {
  const { closers, closed } = open()
  closers.add('slow', async () => {
    closers.add('late', () => void closed.push('late'))
    closed.push('slow')
  })
  await closers.close()
  expect(closed).toEqual(['late', 'slow'])
  closers.add('last', () => void closed.push('last'))
  expect(closed).toEqual(['late', 'slow', 'last'])
})
