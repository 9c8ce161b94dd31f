/** Rows of the control plane as the source of a gateway's configuration. */
import { everyFault, type Table } from '../matrix.ts'

const SILENCE = 'a stream without heartbeats whose poll fails is reported, and replaced'
const ATTEMPTS = 'an attempt to reach the control plane that ends within 2 s'

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
  open: {
    'hang @ idle': SILENCE,
    'hang @ load': SILENCE,
    'half-open @ idle': SILENCE,
    'half-open @ load': SILENCE,
    'garbage @ idle': SILENCE,
    'garbage @ load': ATTEMPTS,
    'half-open @ start': ATTEMPTS,
    'half-open @ subscribing': ATTEMPTS,
  },
  short: ['half-open @ load', 'refuse @ start', 'refuse @ idle'],
}
