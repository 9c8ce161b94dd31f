/** Rows of Redis as the store of quotas and sessions. */
import { everyFault, type Table } from '../matrix.ts'

export const REDIS_DATA: Table = {
  dependency: 'Redis data',
  expected: everyFault(
    // 429: the lease of the consumer is used up and its units cannot be counted
    { calls: [200, 429], state: 'faulty' },
    {
      'reset while idle': { state: 'any' },
      'reset in flight': { state: 'any' },
    },
  ),
  moments: {
    draining: { state: 'any' },
  },
  never: [
    {
      moment: ['transaction'],
      reason:
        'each use of Redis is one script or one command, which Redis runs as a whole: no transaction stays open',
    },
    { moment: ['subscribing'], reason: 'subscriptions are the dependency "Redis pub/sub"' },
  ],
  short: ['half-open @ load', 'refuse @ start', 'slow @ load', 'reset in flight @ load', 'hang @ draining'],
}
