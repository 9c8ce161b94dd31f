/** Threads that owners share, with a thread that takes long to start. */
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { FairJobWorker } from '../../../../src/base/threads/fair-job-worker.ts'
import type { WorkerJob } from '../../../../src/base/threads/job-worker.ts'

/** Responds with its thread after the time that a job is to work, or, below 0, to wait. */
const PROGRAM = `
import { existsSync, readFileSync } from 'node:fs'
import { parentPort, threadId } from 'node:worker_threads'
const OWN = '/proc/thread-self/schedstat'
const isKnown = existsSync(OWN)
const pause = ms => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)
const usedMs = () => isKnown ? readFileSync(OWN, 'latin1').split(' ')[0] / 1e6 : performance.now()
pause(300)
parentPort.on('message', ms => {
  if (ms < 0) pause(-ms)
  for (const began = usedMs(); usedMs() - began < ms; );
  parentPort.postMessage(threadId)
})
`
/** Only Linux knows how long a thread has run. */
const KNOWS_PROCESSOR_TIME = existsSync('/proc/self/schedstat')
/** More than an owner of short jobs may use. */
const LONG_MS = 200

describe('the threads that owners share', () => {
  let dir: string
  let worker: FairJobWorker
  beforeAll(() => {
    dir = mkdtempSync(join(tmpdir(), 'fair-job-worker-'))
    const file = join(dir, 'program.mjs')
    writeFileSync(file, PROGRAM)
    worker = new FairJobWorker(
      pathToFileURL(file),
      {},
      { maxPendingPerOwner: 8, maxPending: 64, pauseMs: 1_000 },
    )
  })
  afterAll(async () => {
    await worker.close()
    rmSync(dir, { recursive: true, force: true })
  })

  const run = (owner: string, ms: number): Promise<number> => {
    const job: WorkerJob<number, number> = {
      message: ms,
      timeoutMs: 20_000,
      receive: threadId => threadId,
      fail: () => -1,
    }
    return worker.run(owner, () => job)!
  }

  it('keep an owner of short jobs apart from long ones, also when its first job has started a thread', async () => {
    const short = await run('acme', 0)
    expect(await run('globex', LONG_MS)).toBe(short)
    const long = await run('globex', LONG_MS)
    expect(long).not.toBe(short)
    expect(await Promise.all([run('globex', LONG_MS), run('acme', 0)])).toEqual([long, short])
  })

  it.runIf(KNOWS_PROCESSOR_TIME)(
    'do not charge an owner with what its jobs waited for a processor',
    async () => {
      const short = await run('initech', 0)
      expect(await run('initech', -LONG_MS)).toBe(short)
      expect(await run('initech', -LONG_MS)).toBe(short)
      expect(await run('initech', LONG_MS)).toBe(short)
      expect(await run('initech', 0)).not.toBe(short)
    },
  )
})
