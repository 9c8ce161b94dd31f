/** Rows of an OPA server that decides for the gateway (`POLICY_ENGINE=opa-http`). Without it no call may be allowed. */
import { everyFault, type Table } from '../matrix.ts'

export const OPA_SERVER: Table = {
  dependency: 'OPA server',
  expected: everyFault(
    { calls: [503], state: 'faulty' },
    {
      'reset while idle': { calls: [200, 503], state: 'any' },
      slow: { calls: [200], state: 'fine' },
    },
  ),
  moments: {
    // calls that were decided before the fault complete
    load: { calls: [200, 503] },
    draining: { calls: [200, 503], state: 'any' },
  },
  cells: { 'slow @ load': { calls: [200] } },
  never: [
    { moment: ['transaction'], reason: 'a decision is one request: there is no transaction' },
    { moment: ['subscribing'], reason: 'the server announces no change: there is no subscription' },
  ],
  short: ['half-open @ load', 'reset in flight @ load', 'garbage @ idle', 'refuse @ start'],
}
