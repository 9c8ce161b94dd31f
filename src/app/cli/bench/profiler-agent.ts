/** Loaded into a process that is to be profiled, before its own code: starts and stops the V8 profiler when its parent says so. It changes nothing else. */
import { writeFileSync } from 'node:fs'
import { Session } from 'node:inspector'
import { isMainThread } from 'node:worker_threads'

/** From the parent, over the channel of `child_process.spawn`. */
export type ProfilerOrder =
  | { readonly order: 'start'; readonly intervalUs: number }
  /** `file` takes the profile in the format of the DevTools protocol (`Profiler.Profile`, as JSON). */
  | { readonly order: 'stop'; readonly file: string }

/** To the parent: the order is carried out, or why it is not. */
export interface ProfilerResponse {
  readonly done: ProfilerOrder['order']
  /** User and system time of the process so far, µs. */
  readonly cpuUs: number
  readonly fault?: string
}

if (isMainThread && process.send !== undefined) {
  let session: Session | undefined

  const start = (intervalUs: number): void => {
    session = new Session()
    session.connect()
    session.post('Profiler.enable')
    session.post('Profiler.setSamplingInterval', { interval: intervalUs })
    session.post('Profiler.start')
  }
  const stop = (file: string): void => {
    session?.post('Profiler.stop', (error, { profile }) => {
      if (error) throw error
      writeFileSync(file, JSON.stringify(profile))
    })
    session?.disconnect()
  }
  const cpuUs = (): number => {
    const { user, system } = process.cpuUsage()
    return user + system
  }

  process.on('message', (message: ProfilerOrder) => {
    let fault: string | undefined
    // what the profiler itself costs at its start and end is no part of the load
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
  // nobody is left who could stop it
  process.on('disconnect', () => process.kill(process.pid, 'SIGTERM'))
  process.channel?.unref()
}
