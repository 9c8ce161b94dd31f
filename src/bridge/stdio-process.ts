/** One process of a stdio MCP server: exchanges lines with it, and stops it. */
import { type ChildProcess, spawn } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'

export interface StdioCommand {
  readonly command: string
  readonly args: readonly string[]
  readonly cwd: string
  readonly env: Readonly<Record<string, string>>
}

export interface StdioEvents {
  /** A line of its output. */
  readonly onLine: (line: string) => void
  /** Called once, when the process has ended or could not be started. @param reason for operators */
  readonly onEnd: (reason: string) => void
}

/** For one line; a longer one ends the process. */
const MAX_LINE_BYTES = 16 * 1024 * 1024
/** For what the process has not read yet. */
const MAX_UNREAD_BYTES = 16 * 1024 * 1024
/** After the end of its input, and after SIGTERM. */
const END_MS = 1_000
const TERM_MS = 2_000
const NEWLINE = 0x0a

export class StdioProcess {
  /** Undefined, or without streams: it could not be started. */
  readonly #child: ChildProcess | undefined
  readonly #events: StdioEvents
  readonly #ended: Promise<void>
  #chunks: Buffer[] = []
  #heldBytes = 0
  #reason: string | undefined
  #isOver = false

  /** The error output of the program goes to that of this process. */
  constructor({ command, args, cwd, env }: StdioCommand, events: StdioEvents) {
    this.#events = events
    let over = (_reason: string): void => {}
    this.#ended = new Promise(resolve => {
      over = reason => {
        if (this.#isOver) return
        this.#isOver = true
        // a process that it has started may still hold the group
        this.#signal('SIGKILL')
        events.onEnd(this.#reason ?? reason)
        resolve()
      }
    })
    const handleRefusal = (error: Error): void => over(`${command} cannot be started: ${error.message}`)
    try {
      // a group, so that what the command starts ends with it
      this.#child = spawn(command, args, { cwd, env, stdio: ['pipe', 'pipe', 'inherit'], detached: true })
    } catch (error) {
      // as the event: after the constructor
      process.nextTick(handleRefusal, error as Error)
      return
    }
    this.#child.once('error', handleRefusal)
    this.#child.once('close', (code, signal) =>
      over(`${command} ended with ${signal === null ? `exit code ${code}` : `signal ${signal}`}`),
    )
    // without file descriptors there are no streams, and the event above follows
    const { stdin, stdout } = this.#child as Partial<ChildProcess>
    stdout?.on('data', (chunk: Buffer) => this.#read(chunk))
    // the end of the process is reported once, above
    stdin?.on('error', () => {})
    stdout?.on('error', () => {})
  }

  /** False when the process does not read, or is over: the message was not sent. A process that could not be started is over in a moment. */
  send(line: string): boolean {
    const stdin = this.#child?.stdin
    if (this.#isOver) return false
    if (stdin === undefined || stdin === null) return true
    if (stdin.destroyed || stdin.writableLength > MAX_UNREAD_BYTES) return false
    stdin.write(`${line}\n`)
    return true
  }

  /** Ends its input, then asks it to end, then kills it. Never rejects. */
  async stop(): Promise<void> {
    this.#child?.stdin?.end()
    await Promise.race([this.#ended, sleep(END_MS, undefined, { ref: false })])
    this.#signal('SIGTERM')
    await Promise.race([this.#ended, sleep(TERM_MS, undefined, { ref: false })])
    this.#signal('SIGKILL')
    // a process outside of the group may hold the output open
    this.#child?.stdout?.destroy()
    await this.#ended
  }

  #read(chunk: Buffer): void {
    let from = 0
    for (let at = chunk.indexOf(NEWLINE); at >= 0; at = chunk.indexOf(NEWLINE, from)) {
      const line = Buffer.concat([...this.#chunks, chunk.subarray(from, at)])
      this.#chunks = []
      this.#heldBytes = 0
      from = at + 1
      const text = line.toString('utf8').trim()
      if (text !== '') this.#events.onLine(text)
    }
    this.#chunks.push(chunk.subarray(from))
    this.#heldBytes += chunk.length - from
    if (this.#heldBytes <= MAX_LINE_BYTES) return
    this.#chunks = []
    this.#reason = `the command wrote a line of more than ${MAX_LINE_BYTES} bytes and was killed`
    this.#signal('SIGKILL')
  }

  #signal(signal: NodeJS.Signals): void {
    const pid = this.#child?.pid
    if (pid === undefined) return
    try {
      process.kill(-pid, signal)
    } catch {
      // the group has ended
    }
  }
}
