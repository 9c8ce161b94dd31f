/** `npm run bench:profile`: loads a gateway in a child process, profiles that process and reports the functions with the most self time. */
import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { VERSION } from '../../src/base/version.ts'
import { type BenchDeployment, startDeployment } from './deployment.ts'
import { type CpuProfile, hotFunctions } from './hot-functions.ts'
import { startLoad } from './load.ts'
import { type ProfileReport, profileJson, textReport } from './profile-report.ts'
import { PACKAGE_DIR } from './served-child.ts'
import { type Work, workRequest } from './work.ts'

const TOP = 15

export interface ProfileOptions {
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
export async function profile(options: ProfileOptions): Promise<number> {
  const interrupted = new AbortController()
  const interrupt = (): void => interrupted.abort(new Error('interrupted'))
  process.once('SIGINT', interrupt).once('SIGTERM', interrupt)
  let deployment: BenchDeployment | undefined
  try {
    mkdirSync(options.out, { recursive: true })
    deployment = await startDeployment(options.settings, options.dataDir, progress)
    interrupted.signal.throwIfAborted()
    const report = await measure(options, deployment, interrupted.signal)
    process.stdout.write(`${options.json ? profileJson(report) : textReport(report)}\n`)
    return 0
  } catch (error) {
    const message = interrupted.signal.aborted ? 'interrupted' : (error as Error).message
    process.stderr.write(`bench:profile: ${message}\n`)
    return 1
  } finally {
    progress('stopping')
    await deployment?.stop()
    process.off('SIGINT', interrupt).off('SIGTERM', interrupt)
  }
}

async function measure(
  options: ProfileOptions,
  deployment: BenchDeployment,
  interrupted: AbortSignal,
): Promise<ProfileReport> {
  const { seconds, warmUpSeconds, work, connections, intervalUs, out } = options
  const { gateway } = deployment
  const load = startLoad({
    url: gateway.addresses.gateway_url,
    request: workRequest(work, deployment),
    connections,
  })
  // a wrong response ends the wait; the end of the wait clears the timer
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
  let responses: number
  let wallMs: number
  let cpuUs: number
  try {
    progress(`warming up for ${warmUpSeconds} s`)
    await wait(warmUpSeconds)
    progress(`profiling "${work}" for ${seconds} s`)
    const cpuBefore = await gateway.startProfile(intervalUs)
    const [responsesBefore, startedAt] = [load.responses(), performance.now()]
    await wait(seconds)
    responses = load.responses() - responsesBefore
    wallMs = performance.now() - startedAt
    cpuUs = (await gateway.stopProfile(file)) - cpuBefore
  } finally {
    load.stop()
  }
  if (responses === 0) throw new Error(`the gateway sent no response within ${seconds} s; increase --seconds`)
  const { busyUs, functions } = hotFunctions(
    JSON.parse(readFileSync(file, 'utf8')) as CpuProfile,
    PACKAGE_DIR,
  )
  return {
    work,
    connections,
    requests: responses,
    requestsPerSecond: responses / (wallMs / 1000),
    cpuUsPerRequest: cpuUs / responses,
    busyShare: busyUs / 1000 / wallMs,
    functions: functions.slice(0, TOP).map(({ name, place, origin, selfUs, totalUs }) => ({
      name,
      place,
      origin,
      selfShare: selfUs / busyUs,
      totalShare: totalUs / busyUs,
      cpuUsPerRequest: ((selfUs / busyUs) * cpuUs) / responses,
    })),
    profileFile: file,
    version: VERSION,
    node: process.version,
  }
}

function progress(text: string): void {
  process.stderr.write(`${text} …\n`)
}
