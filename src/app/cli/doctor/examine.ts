/** Takes the steps of one client up to the first that fails. It prints nothing. */
import { ask } from './ask.ts'
import type { ClientProfile } from './clients.ts'
import { Fault } from './fault.ts'
import { headersOf } from './rpc.ts'
import { authorization, token as tokenEndpoint } from './steps/authorization.ts'
import { initialize, listToolsStep, stream } from './steps/conversation.ts'
import { resource, server } from './steps/discovery.ts'
import { names } from './steps/names.ts'
import { challenge, reach } from './steps/reach.ts'
import { registration, takeBack } from './steps/registration.ts'
import type { Step, Visit } from './visit.ts'

const STEPS: readonly Step[] = [
  reach,
  challenge,
  resource,
  server,
  registration,
  authorization,
  tokenEndpoint,
  initialize,
  stream,
  listToolsStep,
  names,
]

export interface StepReport {
  readonly step: string
  readonly status: 'ok' | 'failed' | 'skipped'
  readonly found: string
  readonly warnings: readonly string[]
  /** Of a step that failed. */
  readonly fix?: string
}

export interface ClientReport {
  readonly client: string
  readonly ok: boolean
  /** The first step that failed. */
  readonly failed: string | undefined
  readonly steps: readonly StepReport[]
}

export interface Examined {
  readonly url: string
  readonly token: string | undefined
  readonly serverName: string
}

/** @param onStep called at the end of each step. Never rejects because of the server. */
export async function examine(
  { url, token, serverName }: Examined,
  client: ClientProfile,
  onStep: (report: StepReport) => void,
): Promise<ClientReport> {
  const visit: Visit = {
    url,
    client,
    serverName,
    token,
    guarded: true,
    resourceMetadataUrl: undefined,
    scope: '',
    issuer: '',
    server: undefined,
    registered: undefined,
    sessionId: undefined,
    protocolVersion: undefined,
    tools: [],
  }
  const steps: StepReport[] = []
  for (const step of STEPS) {
    const report = await reportOf(step, visit)
    // the registration is not needed after the token endpoint
    const left = step === tokenEndpoint || report.status === 'failed' ? await takeBack(visit) : undefined
    const whole = left === undefined ? report : { ...report, warnings: [...report.warnings, left] }
    steps.push(whole)
    onStep(whole)
    if (report.status === 'failed') break
  }
  await endSession(visit)
  const failed = steps.find(step => step.status === 'failed')?.step
  return { client: client.name, ok: failed === undefined, failed, steps }
}

async function reportOf(step: Step, visit: Visit): Promise<StepReport> {
  try {
    const outcome = await step.run(visit)
    if ('skipped' in outcome)
      return { step: step.id, status: 'skipped', found: outcome.skipped, warnings: [] }
    return { step: step.id, status: 'ok', found: outcome.facts.join(' '), warnings: outcome.warnings ?? [] }
  } catch (error) {
    if (!(error instanceof Fault)) throw error
    return { step: step.id, status: 'failed', found: error.found, warnings: [], fix: error.fix }
  }
}

async function endSession(visit: Visit): Promise<void> {
  if (visit.sessionId === undefined) return
  try {
    await ask(visit.url, { method: 'DELETE', headers: headersOf(visit) })
  } catch {
    // it ends by itself
  }
}
