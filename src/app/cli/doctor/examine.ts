/**
 * Takes the steps of one client up to the first that fails, ends its session and reports a verdict; with a token, a failed step of the login ends the
 * login only.
 */
import { ask } from './ask.ts'
import type { ClientProfile } from './clients.ts'
import { Fault } from './fault.ts'
import { headersOf } from './rpc.ts'
import { authorization, token as tokenEndpoint } from './steps/authorization.ts'
import { initialize, listToolsStep, stream } from './steps/conversation.ts'
import { cors } from './steps/cors.ts'
import { resource, server } from './steps/discovery.ts'
import { limits } from './steps/limits.ts'
import { names } from './steps/names.ts'
import { pages } from './steps/pages.ts'
import { prefix } from './steps/prefix.ts'
import { challenge, reach } from './steps/reach.ts'
import { registration, takeBack } from './steps/registration.ts'
import { tls } from './steps/tls.ts'
import type { Step, StepOutcome, Visit } from './visit.ts'

const STEPS: readonly Step[] = [
  tls,
  reach,
  cors,
  challenge,
  prefix,
  resource,
  server,
  registration,
  authorization,
  tokenEndpoint,
  initialize,
  stream,
  listToolsStep,
  pages,
  names,
  limits,
]

export interface StepReport {
  readonly step: string
  /** `warning`: it failed, but the token of the user makes it unnecessary. */
  readonly status: 'ok' | 'failed' | 'warning' | 'skipped'
  readonly found: string
  readonly warnings: readonly string[]
  /** For a step that failed, with status `failed` or `warning`. */
  readonly fix?: string
}

export interface Verdict {
  readonly ok: boolean
  /** The first step that failed. */
  readonly failed: string | undefined
}

export interface ClientReport {
  readonly client: string
  /** With a token that of `header`, else that of `login`. */
  readonly ok: boolean
  /** The first step that failed with status `failed`. */
  readonly failed: string | undefined
  /** The client is given the token; undefined without one. */
  readonly header: Verdict | undefined
  /** The client registers and logs in, as far as a program can try it. */
  readonly login: Verdict
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
    definitionBytes: 0,
  }
  const steps: StepReport[] = []
  let loginFailed: string | undefined
  for (const step of STEPS) {
    const report =
      step.login && loginFailed !== undefined
        ? toSkippedReport(step, `The login failed at the step "${loginFailed}".`)
        : toReport(step, await attempt(step, visit), visit)
    if (report.status === 'warning') loginFailed = step.id
    // the registration is not needed after the token endpoint
    const left = step === tokenEndpoint || report.fix !== undefined ? await takeBack(visit) : undefined
    const whole = left === undefined ? report : { ...report, warnings: [...report.warnings, left] }
    steps.push(whole)
    onStep(whole)
    if (report.status === 'failed') break
  }
  await endSession(visit)
  const failed = steps.find(step => step.status === 'failed')?.step
  const login = verdictOf(loginFailed ?? failed)
  const header = token === undefined ? undefined : verdictOf(failed)
  return { client: client.name, ok: (header ?? login).ok, failed, header, login, steps }
}

function verdictOf(failed: string | undefined): Verdict {
  return { ok: failed === undefined, failed }
}

async function attempt(step: Step, visit: Visit): Promise<StepOutcome | Fault> {
  try {
    return await step.run(visit)
  } catch (error) {
    if (error instanceof Fault) return error
    // a response in a form that a step does not expect must not end the run of the other clients
    return new Fault(
      `This command cannot interpret a response from the server: ${error}.`,
      'Find the responses for this step in the log of the server, and compare the responses with the MCP and OAuth specifications. If the responses conform to the specifications, report a bug in Toolgate.',
    )
  }
}

function toReport(step: Step, outcome: StepOutcome | Fault, { token }: Visit): StepReport {
  if (outcome instanceof Fault) {
    const status = step.login && token !== undefined ? 'warning' : 'failed'
    return { step: step.id, status, found: outcome.found, warnings: [], fix: outcome.fix }
  }
  if ('skipped' in outcome) return toSkippedReport(step, outcome.skipped)
  return { step: step.id, status: 'ok', found: outcome.facts.join(' '), warnings: outcome.warnings ?? [] }
}

function toSkippedReport(step: Step, found: string): StepReport {
  return { step: step.id, status: 'skipped', found, warnings: [] }
}

async function endSession(visit: Visit): Promise<void> {
  if (visit.sessionId === undefined) return
  try {
    await ask(visit.url, { method: 'DELETE', headers: headersOf(visit) })
  } catch {
    // it ends by itself
  }
}
