/** Preloaded into a profiled process: starts and stops the V8 profiler on messages of its parent, and ends the process when the parent disconnects. */
import { writeFileSync } from 'node:fs'
import { type Profiler, Session } from 'node:inspector'
import { isMainThread } from 'node:worker_threads'

/** From the parent, over the channel of `child_process.spawn`. */
export type ProfilerOrder =
  | { readonly order: 'start'; readonly intervalUs: number }
  /** `file` takes the profile in the format of the DevTools protocol (`Profiler.Profile`, as JSON). */
  | { readonly order: 'stop'; readonly file: string }

/** To the parent: the order was carried out, or `fault` says why not. */
export interface ProfilerResponse {
  readonly done: ProfilerOrder['order']
  /** User and system time of the process so far, µs. */
  readonly cpuUs: number
  readonly fault?: string
}

if (isMainThread && process.send !== undefined) {
  let session: Session | undefined

  /** Responds within the call. An error is thrown here: node prints one of the callback as a warning and goes on. */
  const post = (method: string, params: object = {}): object | undefined => {
    let failure: Error | null = null
    let result: object | undefined
    session?.post(method, params, (error, value) => {
      failure = error
      result = value
    })
    if (failure !== null) throw failure
    return result
  }
  const start = (intervalUs: number): void => {
    session = new Session()
    session.connect()
    post('Profiler.enable')
    post('Profiler.setSamplingInterval', { interval: intervalUs })
    post('Profiler.start')
  }
  const stop = (file: string): void => {
    try {
      const { profile } = post('Profiler.stop') as Profiler.StopReturnType
      writeFileSync(file, JSON.stringify(profile))
    } finally {
      session?.disconnect()
    }
  }
  const cpuUs = (): number => {
    const { user, system } = process.cpuUsage()
    return user + system
  }

  process.on('message', (message: ProfilerOrder) => {
    let fault: string | undefined
    // excludes the cost of starting and stopping the profiler
    let spentUs = cpuUs()
    try {
      if (message.order === 'start') start(message.intervalUs)
      else stop(message.file)
    } catch (error) {
      fault = (error as Error).message
    }
    if (message.order === 'start') spentUs = cpuUs()
    const response: ProfilerResponse = {
      done: message.order,
      cpuUs: spentUs,
      ...(fault === undefined ? {} : { fault }),
    }
    process.send!(response)
  })
  // the parent is gone and cannot stop this process any more
  process.on('disconnect', () => process.kill(process.pid, 'SIGTERM'))
  process.channel?.unref()
}
