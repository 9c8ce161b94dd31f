/** Rows of the disk below DATA_DIR: "refuse" is a file system without free space. */
import { everyFault, type Table } from '../matrix.ts'

export const DISK: Table = {
  dependency: 'disk',
  expected: everyFault({ calls: [200], state: 'faulty' }),
  moments: { draining: { state: 'any' } },
  never: [
    {
      fault: ['reset while idle', 'reset in flight', 'half-open'],
      reason: 'a file system has no connection',
    },
    {
      fault: ['hang', 'slow'],
      reason:
        'only a device can delay a file operation, and a process without its own block device cannot make one do so',
    },
    {
      fault: ['garbage'],
      reason: 'damaged files are read at the start only: their rows are those of each kind of file',
    },
    {
      moment: ['transaction'],
      reason: 'the journal and the spool write records with checksums, each in one call: nothing stays open',
    },
    { moment: ['subscribing'], reason: 'nothing is subscribed to at a file system' },
    {
      moment: ['start'],
      reason:
        'a start that cannot write ends with 78 and names DATA_DIR and the fix: its rows are in disk-start.test.ts',
    },
  ],
  short: ['refuse @ load', 'refuse @ draining'],
}
