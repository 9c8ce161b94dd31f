/** Receives the signals to stop, from the first moment of the process on: process 1 of a container ignores signals without a listener. It stops nothing itself. */

/** Ctrl-C reaches the process twice below npm: from the terminal, and from npm, which forwards it. */
const SAME_REQUEST_MS = 500

let firstAtMs: number | undefined
/** Until a command takes over, nothing has been opened that would have to be closed. */
let stop = (): void => process.exit(0)

/** Ends the process at the first signal, until `onStopSignal` is called. */
export function catchStopSignals(): void {
  for (const signal of ['SIGTERM', 'SIGINT']) process.on(signal, receive)
}

/** The listener is called once, at the first signal. A second signal ends the process at once. */
export function onStopSignal(listener: () => void): void {
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
