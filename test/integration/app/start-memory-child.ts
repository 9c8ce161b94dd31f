/** A process that fills its young generation as a start does, and reports that generation's size at its start and when its parent asks. */
import { getHeapSpaceStatistics } from 'node:v8'
import { releaseStartMemory } from '../../../src/app/main/release-start-memory.ts'

const LOOKS = { firstMs: 100, nextMs: 200 }
const MIB = 1024 ** 2

function youngMiB(): number {
  return getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space')!.space_size / MIB
}

const kept: object[] = []
while (kept.length < 2_000_000) kept.push({ at: kept.length })
kept.length = 0

const isBusy = process.argv[2] === 'busy'
if (isBusy)
  setInterval(() => {
    const until = performance.now() + 15
    while (performance.now() < until);
  }, 20)
releaseStartMemory(LOOKS)
process.send!(youngMiB())
process.on('message', () => process.send!(youngMiB()))
