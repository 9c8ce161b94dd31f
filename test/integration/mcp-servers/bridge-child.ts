/** A process with a bridge whose file descriptors are used up but for a few: it prints the address. */
import { closeSync, openSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { Bridge } from '../../../src/bridge/bridge.ts'

/** Enough for the connections of the test, too few for the pipes of a command. */
const FREE = 4

const bridge = new Bridge({
  command: { command: process.execPath, args: ['-e', ''], cwd: tmpdir(), env: {} },
  host: '127.0.0.1',
  port: 0,
  maxSessions: 4,
  idleMs: 60_000,
  log: () => {},
})
const url = await bridge.listen()
const opened: number[] = []
try {
  for (;;) opened.push(openSync('/dev/null', 'r'))
} catch {
  for (const descriptor of opened.splice(0, FREE)) closeSync(descriptor)
}
process.stdout.write(`${url}\n`)
