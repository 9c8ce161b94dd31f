/** Rows of Redis pub/sub: only the connections that subscribe are broken. Calls need none of them, and signals arrive again after the return. */
import { everyFault, type Table } from '../matrix.ts'

export const REDIS_SIGNALS: Table = {
  dependency: 'Redis pub/sub',
  // commands still reach Redis, so neither health nor the metric of the quota store changes
  expected: everyFault({ calls: [200], state: 'any' }),
  never: [
    { moment: ['transaction'], reason: 'a subscription is not part of a transaction' },
    {
      fault: ['reset in flight'],
      moment: ['load', 'draining'],
      reason: 'a subscriber sends only pings: a command in flight exists while it subscribes',
    },
  ],
  short: ['slow @ subscribing', 'half-open @ idle', 'garbage @ idle', 'refuse @ subscribing'],
}
