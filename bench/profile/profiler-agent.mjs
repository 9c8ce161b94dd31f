/** Preloaded into a profiled process: starts and stops the V8 profiler on messages of its parent, and ends the process when the parent disconnects. */
import { writeFileSync } from 'node:fs'
import { Session } from 'node:inspector'
import { isMainThread } from 'node:worker_threads'

if (isMainThread && process.send !== undefined) {
  let session

  /** Responds within the call. An error is thrown here: node prints one of the callback as a warning and goes on. */
  const post = (method, params = {}) => {
    let failure = null
    let result
    session?.post(method, params, (error, value) => {
      failure = error
      result = value
    })
    if (failure !== null) throw failure
    return result
  }
  const start = intervalUs => {
    session = new Session()
    session.connect()
    post('Profiler.enable')
    post('Profiler.setSamplingInterval', { interval: intervalUs })
    post('Profiler.start')
  }
  const stop = file => {
    try {
      const { profile } = post('Profiler.stop')
      writeFileSync(file, JSON.stringify(profile))
    } finally {
      session?.disconnect()
    }
  }
  const cpuUs = () => {
    const { user, system } = process.cpuUsage()
    return user + system
  }

  process.on('message', message => {
    let fault
    // excludes the cost of starting and stopping the profiler
    let spentUs = cpuUs()
    try {
      if (message.order === 'start') start(message.intervalUs)
      else stop(message.file)
    } catch (error) {
      fault = error.message
    }
    if (message.order === 'start') spentUs = cpuUs()
    const response = {
      done: message.order,
      cpuUs: spentUs,
      ...(fault === undefined ? {} : { fault }),
    }
    process.send(response)
  })
  // the parent is gone and cannot stop this process any more
  process.on('disconnect', () => process.kill(process.pid, 'SIGTERM'))
  process.channel?.unref()
}
