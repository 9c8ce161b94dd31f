/** Rows of the Kubernetes API as the source of tools. */
import { everyFault, type Table } from '../matrix.ts'

export const KUBERNETES: Table = {
  dependency: 'Kubernetes API',
  expected: everyFault(
    // the tools that were read stay in service
    { calls: [200], state: 'faulty' },
    {
      'reset while idle': { state: 'any' },
      'reset in flight': { state: 'any' },
      slow: { state: 'any' },
    },
  ),
  // an instance without tools waits for the first list: an empty one is not a valid state
  moments: { start: { calls: [200, 503, 404] }, draining: { state: 'any' } },
  never: [],
  short: ['refuse @ start', 'half-open @ transaction', 'refuse @ subscribing', 'garbage @ load'],
}
