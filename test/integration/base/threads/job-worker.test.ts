/** A job worker with real threads that throw or exit, during a job and between jobs. */
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Worker } from 'node:worker_threads'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { JobWorker, type WorkerJob } from '../../../../src/base/threads/job-worker.ts'

/** Responds with its thread and the count of jobs it has run. The fault of a job follows `afterMs` later; without `afterMs` it replaces the response. */
const PROGRAM = `
import { parentPort, threadId } from 'node:worker_threads'
let jobs = 0
const faults = { throw: () => { throw new Error('broken') }, exit: () => process.exit(3) }
parentPort.on('message', ({ fault, afterMs }) => {
  if (fault && afterMs === undefined) faults[fault]()
  parentPort.postMessage({ threadId, jobs: ++jobs })
  if (fault) setTimeout(faults[fault], afterMs)
})
`

interface Report {
  readonly threadId: number
  readonly jobs: number
}
type Outcome = Report | { readonly failed: string }

interface Fault {
  readonly fault: 'throw' | 'exit'
  readonly afterMs?: number
}

describe('a job worker', () => {
  let dir: string
  let worker: JobWorker
  const exits: Promise<unknown>[] = []
  const note = (thread: Worker): void => {
    exits.push(new Promise(resolve => thread.on('exit', resolve)))
  }
  beforeAll(() => {
    process.on('worker', note)
    dir = mkdtempSync(join(tmpdir(), 'job-worker-'))
    const file = join(dir, 'program.mjs')
    writeFileSync(file, PROGRAM)
    worker = new JobWorker(pathToFileURL(file), {}, 60_000)
  })
  afterAll(async () => {
    process.off('worker', note)
    await worker.close()
    rmSync(dir, { recursive: true, force: true })
  })

  const run = (fault?: Fault, owner = ''): Promise<Outcome> => {
    const job: WorkerJob<Report, Outcome> = {
      message: fault ?? {},
      timeoutMs: 20_000,
      receive: report => report,
      fail: reason => ({ failed: reason instanceof Error ? reason.message : reason }),
    }
    return worker.run(job, owner)
  }
  const threadOf = async (outcome: Promise<Outcome>): Promise<number> => ((await outcome) as Report).threadId

  it('starts a thread before the first job, which runs in it', async () => {
    const before = exits.length
    const started = once(process, 'worker')
    worker.prepare()
    worker.prepare()
    await started
    expect(await run()).toMatchObject({ jobs: 1 })
    expect(exits.length - before).toBe(1)
    await worker.close()
  })

  it('ends a prepared thread that gets no job', async () => {
    const unused = new JobWorker(pathToFileURL(join(dir, 'program.mjs')), {}, 100)
    const started = once(process, 'worker')
    unused.prepare()
    const [thread] = (await started) as [Worker]
    await once(thread, 'exit')
    expect(thread.threadId).toBe(-1)
    await unused.close()
  })

  it('keeps its thread for further jobs', async () => {
    expect(await run()).toMatchObject({ jobs: 1 })
    expect(await run()).toMatchObject({ jobs: 2 })
  })

  it('gives each owner a turn, in order within an owner', async () => {
    const order: string[] = []
    const jobs = ['a1', 'a2', 'a3', 'b1', 'b2', 'c1'].map(name =>
      run(undefined, name[0]).then(() => order.push(name)),
    )
    await Promise.all(jobs)
    expect(order).toEqual(['a1', 'a2', 'b1', 'c1', 'a3', 'b2'])
  })

  it.each([
    ['throw', 'broken'],
    ['exit', 'exit'],
  ] as const)(
    'fails a job whose thread ends (%s), and runs the next in a new thread',
    async (fault, failed) => {
      expect(await run({ fault })).toEqual({ failed })
      expect(await run()).toMatchObject({ jobs: 1 })
    },
  )

  // an error without a listener would end the process: the runner reports it as unhandled
  it.each(['throw', 'exit'] as const)('survives a thread that ends between two jobs (%s)', async fault => {
    const ended = await threadOf(run({ fault, afterMs: 20 }))
    await exits.at(-1)
    const next = await threadOf(run())
    expect(next).not.toBe(ended)
    expect(await threadOf(run())).toBe(next)
  })
})
