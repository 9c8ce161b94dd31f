/** The facts of a session as Redis stores them: each combination is read as it was written. */
import { expect, it } from 'vitest'
import { capabilityBits, settledFacts } from '../../../../src/data-plane/sessions/redis/session-scripts.ts'

const protocolVersion = '2025-06-18'
const COMBINATIONS = [0, 1, 2, 3, 4, 5, 6, 7].map(bits => ({
  bits,
  facts: {
    protocolVersion,
    elicitation: bits % 2 === 1,
    ...([2, 3, 6, 7].includes(bits) ? { sampling: true as const } : {}),
    ...(bits >= 4 ? { roots: true as const } : {}),
  },
}))

it.each(COMBINATIONS)('capabilities $bits are read as they were written', ({ bits, facts }) => {
  expect(capabilityBits(facts)).toBe(bits)
  expect(settledFacts(protocolVersion, bits, '')).toStrictEqual(facts)
})

it('a log level is read when there is one', () => {
  expect(settledFacts(protocolVersion, 0, 'info')).toStrictEqual({
    protocolVersion,
    elicitation: false,
    logLevel: 'info',
  })
})
