/** Failures of a policy: every one is counted, one a second is logged, with how many were not. */
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { failureReporter } from '../../../src/policy/report-failure.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

it('logs the first failure, then one a second with the number of those between', () => {
  const logged: object[] = []
  const counted: string[] = []
  const report = failureReporter({
    onFailure: failure => void counted.push(failure),
    log: { warn: fields => void logged.push(fields) },
  })
  report('trap', 'a')
  report('trap', 'b')
  vi.advanceTimersByTime(999)
  report('trap', 'c')
  expect(logged).toEqual([{ failure: 'trap', detail: 'a', unlogged_before: 0 }])
  vi.advanceTimersByTime(1)
  report('overtime', 'd')
  vi.advanceTimersByTime(1000)
  report('trap', 'e')
  expect(logged.slice(1)).toEqual([
    { failure: 'overtime', detail: 'd', unlogged_before: 2 },
    { failure: 'trap', detail: 'e', unlogged_before: 0 },
  ])
  expect(counted).toEqual(['trap', 'trap', 'trap', 'overtime', 'trap'])
})

it('counts without a log', () => {
  const counted: string[] = []
  failureReporter({ onFailure: failure => void counted.push(failure) })('closed', '')
  expect(counted).toEqual(['closed'])
})
