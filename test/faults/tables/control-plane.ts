/** Rows of the control plane as the source of a gateway's configuration. */
import { everyFault, type Table } from '../matrix.ts'

export const CONTROL_PLANE: Table = {
  dependency: 'control plane',
  expected: everyFault(
    // the last configuration stays in service
    { calls: [200], state: 'faulty' },
    {
      'reset while idle': { state: 'any' },
      'reset in flight': { state: 'any' },
      slow: { state: 'fine' },
    },
  ),
  moments: { draining: { state: 'any' } },
  never: [
    { moment: ['transaction'], reason: 'an update is applied as a whole or not at all: nothing stays open' },
  ],
  short: ['half-open @ load', 'refuse @ start', 'refuse @ idle'],
}
