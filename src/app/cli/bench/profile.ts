/** `toolgate bench profile`: drives load at a gateway of its own, profiles that process, and shows where its time went. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import { VERSION } from '../../../shared/version.ts'
import { type CpuProfile, callTree, hotFunctions } from './call-tree.ts'
import { type BenchDeployment, startDeployment } from './deployment.ts'
import { flamePage } from './flame-page.ts'
import { startLoad } from './load.ts'
import { jsonReport, type ProfileReport, textReport } from './profile-report.ts'
import { PACKAGE_DIR } from './served-child.ts'
import { requestOf, WORK, type Work } from './work.ts'

const EXIT_FAILED = 1
const EXIT_USAGE = 64
const MAX_SECONDS = 120
const MAX_CONNECTIONS = 1000
/** More than that and the profiler profiles itself. */
const MIN_INTERVAL_US = 100
const MAX_INTERVAL_US = 100_000
const TOP = 15

const HELP = `Usage: toolgate bench profile [--seconds S] [--work KIND] [--out DIR] [--json]

Starts the example deployment on free ports of this machine (a gateway by itself; control plane and identity provider
beside it; a backend on loopback), drives it with load, samples the gateway's process with the V8 profiler, and stops
everything again. Writes DIR/profile.cpuprofile (for the DevTools of Chromium, or VS Code) and DIR/profile.html, a flame
graph in one file that needs nothing else, and prints the functions with the most time of their own.

  --seconds S      how long is profiled, default 10, at most ${MAX_SECONDS}
  --warm-up S      load before that, which is not profiled, default 3
  --work KIND      what is asked, default call:
                     call   tools/call over JSON-RPC       rest   tools/call over REST
                     list   tools/list over JSON-RPC       ping   ping over JSON-RPC
                     proxy  GET through a proxied API with an API key
  --connections N  each with one request in flight, default 16
  --interval US    microseconds between samples, default 500
  --set NAME=VALUE a setting of the gateway (README.md has the table); may be repeated
  --out DIR        default: the current folder
  --data DIR       keeps the example's database there, so that the next run starts sooner; default: none is kept
  --json           one JSON object on stdout instead of text
  -h, --help

Exit codes: 0 done, 1 it could not be measured or an answer was wrong (it says which), 64 usage.
`

interface Options {
  readonly seconds: number
  readonly warmUpSeconds: number
  readonly work: Work
  readonly connections: number
  readonly intervalUs: number
  readonly settings: Readonly<Record<string, string>>
  readonly out: string
  readonly dataDir: string | undefined
  readonly json: boolean
}

/** @returns the exit code */
export async function profile(args: string[]): Promise<number> {
  const options = readOptions(args)
  if (typeof options === 'number') return options
  const interrupted = new AbortController()
  const interrupt = (): void => interrupted.abort(new Error('interrupted'))
  process.once('SIGINT', interrupt).once('SIGTERM', interrupt)
  let deployment: BenchDeployment | undefined
  try {
    mkdirSync(options.out, { recursive: true })
    deployment = await startDeployment(options.settings, options.dataDir, progress)
    interrupted.signal.throwIfAborted()
    const report = await measure(options, deployment, interrupted.signal)
    process.stdout.write(options.json ? jsonReport(report) : textReport(report))
    return 0
  } catch (error) {
    const why = interrupted.signal.aborted ? 'interrupted' : (error as Error).message
    process.stderr.write(`toolgate bench profile: ${why}\n`)
    return EXIT_FAILED
  } finally {
    progress('stopping')
    await deployment?.stop()
    process.off('SIGINT', interrupt).off('SIGTERM', interrupt)
  }
}

async function measure(
  options: Options,
  deployment: BenchDeployment,
  interrupted: AbortSignal,
): Promise<ProfileReport> {
  const { seconds, warmUpSeconds, work, connections, intervalUs, out } = options
  const { gateway } = deployment
  const load = startLoad({
    url: gateway.addresses.gateway_url,
    request: requestOf(work, deployment),
    connections,
  })
  // a wrong answer ends the wait, and the wait its timer
  const wait = async (s: number): Promise<void> => {
    const over = new AbortController()
    const signal = AbortSignal.any([interrupted, over.signal])
    try {
      await Promise.race([load.ended, sleep(s * 1000, undefined, { signal })])
    } finally {
      over.abort()
    }
  }
  const file = join(out, 'profile.cpuprofile')
  let answers: number
  let wallMs: number
  let cpuUs: number
  try {
    progress(`warming up for ${warmUpSeconds} s`)
    await wait(warmUpSeconds)
    progress(`profiling "${work}" for ${seconds} s`)
    const cpuBefore = await gateway.startProfile(intervalUs)
    const [answersBefore, startedAt] = [load.answers(), performance.now()]
    await wait(seconds)
    answers = load.answers() - answersBefore
    wallMs = performance.now() - startedAt
    cpuUs = (await gateway.stopProfile(file)) - cpuBefore
  } finally {
    load.stop()
  }
  if (answers === 0) throw new Error(`no answer in ${seconds} s; try more --seconds`)
  progress('writing the flame graph')
  const tree = callTree(JSON.parse(readFileSync(file, 'utf8')) as CpuProfile, PACKAGE_DIR)
  const functions = hotFunctions(tree)
  const html = join(out, 'profile.html')
  const report: ProfileReport = {
    work,
    connections,
    requests: answers,
    requestsPerSecond: answers / (wallMs / 1000),
    cpuUsPerRequest: cpuUs / answers,
    busyShare: tree.totalUs / 1000 / wallMs,
    functions: functions.slice(0, TOP).map(each => ({
      name: each.name,
      place: each.place,
      origin: each.origin,
      selfShare: each.selfUs / tree.totalUs,
      totalShare: each.totalUs / tree.totalUs,
      cpuUsPerRequest: ((each.selfUs / tree.totalUs) * cpuUs) / answers,
    })),
    profileFile: file,
    htmlFile: html,
    htmlUrl: pathToFileURL(html).href,
    version: VERSION,
    node: process.version,
  }
  writeFileSync(html, flamePage(tree, functions, report))
  return report
}

function readOptions(args: string[]): Options | number {
  try {
    const { values } = parseArgs({
      args,
      options: {
        seconds: { type: 'string', default: '10' },
        'warm-up': { type: 'string', default: '3' },
        work: { type: 'string', default: 'call' },
        connections: { type: 'string', default: '16' },
        interval: { type: 'string', default: '500' },
        set: { type: 'string', multiple: true, default: [] },
        out: { type: 'string', default: '.' },
        data: { type: 'string' },
        json: { type: 'boolean', default: false },
        help: { type: 'boolean', short: 'h', default: false },
      },
    })
    if (values.help) {
      process.stdout.write(HELP)
      return 0
    }
    return {
      seconds: number('--seconds', values.seconds, 0.1, MAX_SECONDS),
      warmUpSeconds: number('--warm-up', values['warm-up'], 0, MAX_SECONDS),
      work: workNamed(values.work),
      connections: whole('--connections', values.connections, 1, MAX_CONNECTIONS),
      intervalUs: whole('--interval', values.interval, MIN_INTERVAL_US, MAX_INTERVAL_US),
      settings: Object.fromEntries(values.set.map(settingOf)),
      out: resolve(values.out),
      dataDir: values.data === undefined ? undefined : resolve(values.data),
      json: values.json,
    }
  } catch (error) {
    process.stderr.write(`toolgate bench profile: ${(error as Error).message}\n\n${HELP}`)
    return EXIT_USAGE
  }
}

function number(option: string, value: string, least: number, max: number): number {
  const read = Number(value)
  if (value.trim() === '' || !(read >= least && read <= max))
    throw new Error(`${option} is "${value}"; write a number from ${least} to ${max}`)
  return read
}

function whole(option: string, value: string, least: number, max: number): number {
  const read = number(option, value, least, max)
  if (!Number.isInteger(read)) throw new Error(`${option} is "${value}"; write a whole number`)
  return read
}

function workNamed(value: string): Work {
  const work = WORK.find(kind => kind === value)
  if (work === undefined) throw new Error(`--work is "${value}"; it is one of ${WORK.join(', ')}`)
  return work
}

function settingOf(text: string): [string, string] {
  const [, name, value] = /^([A-Z][A-Z0-9_]*)=(.*)$/s.exec(text) ?? []
  if (name === undefined) throw new Error(`--set is "${text}"; write it as NAME=VALUE`)
  return [name, value!]
}

/** On stderr: stdout is for the result. */
function progress(text: string): void {
  process.stderr.write(`${text} …\n`)
}
