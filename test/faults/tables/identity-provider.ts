/** Rows of the identity provider: calls carry a token whose key was published after the fault began. */
import { everyFault, type Table } from '../matrix.ts'

export const IDENTITY_PROVIDER: Table = {
  dependency: 'identity provider',
  expected: everyFault(
    // tokens of known keys get 200 or the same status; every row verifies 200 after the return
    { calls: [503], state: 'faulty' },
    {
      'reset while idle': { calls: [200, 503], state: 'any' },
      'reset in flight': { calls: [503], state: 'faulty' },
      slow: { calls: [200], state: 'fine' },
    },
  ),
  // calls that were sent before the fault carry a known key
  moments: { load: { calls: [200, 503] }, draining: { calls: [200], state: 'any' } },
  cells: { 'slow @ load': { calls: [200] } },
  never: [
    {
      moment: ['transaction'],
      reason: 'keys and tokens are fetched by single requests: there is no transaction',
    },
    { moment: ['subscribing'], reason: 'the provider announces nothing: there is no subscription' },
  ],
  short: ['refuse @ load', 'half-open @ idle', 'garbage @ load', 'hang @ start'],
}
