/** Shortens what is repeated for every mutant: property tests run briefly, tests that wait for seconds are left out. */
import fc from 'fast-check'
import { beforeEach } from 'vitest'
import { LEFT_OUT } from './folders.mjs'

fc.configureGlobal({ interruptAfterTimeLimit: 250 })

beforeEach(({ task, skip }) => {
  if (LEFT_OUT.includes(task.name)) skip()
})
