/** Receives the signals to stop, passes them to a listener, and can end the process itself. */

/** Ctrl-C reaches the process twice below npm: from the terminal, and from npm, which forwards it. */
const SAME_REQUEST_MS = 500

let caught = false
let firstAtMs: number | undefined
/** Until a command takes over, nothing has been opened that would have to be closed. */
let stop = (): void => process.exit(0)

/** Ends the process at the first signal, until `onStopSignal` is called: process 1 of a container ignores signals without a listener. */
export function catchStopSignals(): void {
  if (caught) return
  caught = true
  for (const signal of ['SIGTERM', 'SIGINT']) process.on(signal, receive)
}

/** The listener is called once, at the first signal. A second one ends the process at once, unless it belongs to the same request. */
export function onStopSignal(listener: () => void): void {
  // where the entry point has not caught them for this command
  catchStopSignals()
  stop = listener
}

function receive(): void {
  const nowMs = performance.now()
  if (firstAtMs === undefined) {
    firstAtMs = nowMs
    stop()
  } else if (nowMs - firstAtMs > SAME_REQUEST_MS) {
    // `process.exit` would abort with a core dump, because worker threads still listen
    process.kill(process.pid, 'SIGKILL')
    // process 1 of a container cannot kill itself
    process.exit(1)
  }
}
