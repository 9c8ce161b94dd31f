/** Rows of Kafka as the receiver of a gateway's metering events. Calls never wait for it. */
import { everyFault, type Table } from '../matrix.ts'

export const KAFKA: Table = {
  dependency: 'Kafka',
  expected: everyFault(
    { calls: [200], state: 'faulty' },
    {
      'reset while idle': { state: 'any' },
      'reset in flight': { state: 'any' },
      slow: { state: 'fine' },
    },
  ),
  moments: { draining: { state: 'any' } },
  never: [
    {
      moment: ['transaction'],
      reason: 'events are sent without transactions; a repeated batch is dropped by its event ids',
    },
    {
      moment: ['subscribing'],
      reason:
        'a gateway only produces; the group of the control plane is tested in test/services/meter-kafka.test.ts',
    },
  ],
  short: ['half-open @ load', 'reset in flight @ load', 'refuse @ start', 'refuse @ draining'],
}
