/** Rows of a backend, called by a tool and by a proxied API. The gateway itself stays healthy: only calls of this backend fail. */
import { everyFault, type Table } from '../matrix.ts'

export const BACKEND: Table = {
  dependency: 'backend',
  expected: everyFault(
    // 503: the circuit of the proxied API is open; 499: its caller gave up before the time-out of a minute
    { calls: [200, 499, 502, 503, 504], state: 'fine' },
    { slow: { calls: [200] }, 'reset while idle': { calls: [200] } },
  ),
  never: [
    {
      moment: ['transaction'],
      reason: 'a call is one request: the gateway keeps no transaction of a backend open',
    },
    {
      fault: ['reset while idle'],
      moment: ['draining'],
      reason: 'the process drains with a call of this backend in flight: this is "reset in flight"',
    },
    { moment: ['subscribing'], reason: 'the gateway subscribes to nothing at a backend' },
  ],
  short: ['half-open @ load', 'reset in flight @ load', 'garbage @ load', 'hang @ draining', 'refuse @ load'],
}
