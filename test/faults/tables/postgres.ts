/** Rows of PostgreSQL as the database of the control plane. */
import { everyFault, type Table } from '../matrix.ts'

export const POSTGRES: Table = {
  dependency: 'PostgreSQL',
  expected: everyFault(
    { calls: [200, 201, 503], state: 'faulty' },
    {
      'reset while idle': { state: 'any' },
      'reset in flight': { state: 'any' },
      // every query takes 200 ms longer, and all succeed
      slow: { calls: [200, 201], state: 'fine' },
    },
  ),
  moments: { draining: { state: 'any' } },
  cells: {
    // the connections are slow as well, and the first of them may be given up
    'slow @ start': { calls: [200, 201, 503] },
    'slow @ draining': { calls: [200, 201], state: 'any' },
  },
  never: [],
  short: [
    'refuse @ start',
    'reset in flight @ load',
    'half-open @ load',
    'reset in flight @ transaction',
    'refuse @ subscribing',
    'refuse @ draining',
  ],
}
