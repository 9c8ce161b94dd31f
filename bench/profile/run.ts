/** `npm run bench:profile`: puts a gateway of the build under load, and shows which functions use its CPU time. */
import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { profile } from './profile.ts'
import { WORK, type Work } from './work.ts'

const HELP = `Usage: npm run bench:profile -- [options]

Starts the example deployment of the build on free ports (one process for the gateway, one for the control plane and the identity provider, and
a backend on loopback), sends requests, samples the gateway process with the V8 profiler and stops all processes. Prints the functions with the
most self time and writes profile.cpuprofile, which VS Code, speedscope and Chrome DevTools open as a flame graph. Settings in the environment
are not used.

  --seconds S         duration of the profile (default: 10)
  --warm-up S         duration of the load before the profile (default: 3)
  --work KIND         ${WORK.join(', ')} (default: call): a tool call, tools/list or ping over JSON-RPC, a tool call over REST, a proxied GET
  --connections N     each with one request in flight (default: 16)
  --interval US       microseconds between samples (default: 500)
  --set NAME=VALUE    setting of the gateway; may be repeated
  --out DIR           directory for profile.cpuprofile (default: .)
  --data DIR          directory of the database of the example deployment, with which later runs start faster (default: in memory)
  --json              prints one JSON object
  --help              prints this help

Exit codes: 0 measured, 1 failed or interrupted, 64 wrong usage
`
const { values } = readOptions()
if (values.help) {
  process.stdout.write(HELP)
  process.exit(0)
}

function readOptions() {
  const text = { type: 'string' } as const
  const flag = { type: 'boolean', default: false } as const
  try {
    return parseArgs({
      options: {
        seconds: { ...text, default: '10' },
        'warm-up': { ...text, default: '3' },
        work: { ...text, default: 'call' },
        connections: { ...text, default: '16' },
        interval: { ...text, default: '500' },
        set: { ...text, multiple: true, default: [] as string[] },
        out: { ...text, default: '.' },
        data: text,
        json: flag,
        help: flag,
      },
    })
  } catch (error) {
    return refuse((error as Error).message)
  }
}

function refuse(message: string): never {
  process.stderr.write(`bench:profile: ${message}\nAdd --help to the command to print the usage.\n`)
  process.exit(64)
}

function number(
  option: 'seconds' | 'warm-up' | 'connections' | 'interval',
  min: number,
  max: number,
): number {
  const value = Number(values[option])
  if (!(value >= min && value <= max))
    refuse(`--${option} is ${values[option]}: give a number from ${min} to ${max}`)
  return value
}

function settings(): Record<string, string> {
  return Object.fromEntries(
    values.set.map(pair => {
      const at = pair.indexOf('=')
      if (at < 1) refuse(`--set ${pair} is not NAME=VALUE`)
      return [pair.slice(0, at), pair.slice(at + 1)]
    }),
  )
}

if (!(WORK as readonly string[]).includes(values.work))
  refuse(`--work is ${values.work}: give one of ${WORK.join(', ')}`)
process.exitCode = await profile({
  seconds: number('seconds', 0.1, 120),
  warmUpSeconds: number('warm-up', 0, 120),
  work: values.work as Work,
  connections: number('connections', 1, 1_000),
  // with shorter intervals the profiler mostly samples itself
  intervalUs: number('interval', 100, 100_000),
  settings: settings(),
  out: resolve(values.out),
  dataDir: values.data === undefined ? undefined : resolve(values.data),
  json: values.json,
})
