/** `toolgate policy eval|explain|replay|diff`: evaluates built bundles and prints the decisions. */
import { readFileSync } from 'node:fs'
import { readJson } from '../../../base/json/exact-number.ts'
import { readBundle } from '../../../policy/bundle.ts'
import type { PolicyInput, PreparedPolicy } from '../../../policy/engine.ts'
import { type Explanation, explain } from '../../../policy/log/explain.ts'
import type { Flip } from '../../../policy/log/flips.ts'
import { readDecisionLog } from '../../../policy/log/reader.ts'
import { type DecisionReplay, replay } from '../../../policy/log/replay.ts'
import { createOpaWasmEngine } from '../../../policy/opa-wasm/engine.ts'
import { EXIT, print, printProgress } from '../command.ts'
import { shownText } from '../shown-text.ts'
import type { PolicyOptions } from './options.ts'

/** Longer than in a gateway: no caller waits, and a slow machine must not turn a decision into a denial. */
const MAX_EVALUATION_MS = 1000
const SHOWN_FLIPS = 50

/** @returns the bundle as a policy; its evaluation failures go to stderr */
export function preparePolicy(bundle: Uint8Array): Promise<PreparedPolicy> {
  const onFailure = (failure: string, detail: string) =>
    printProgress(`the policy evaluation failed: ${failure}: ${detail}`)
  return createOpaWasmEngine({ maxEvaluationMs: MAX_EVALUATION_MS, onFailure }).prepare(bundle)
}

export async function evaluate(options: PolicyOptions): Promise<number> {
  const input = parsedInput(readFileSync(options.input === '-' ? 0 : options.input, 'utf8'))
  return printExplanation(options, input, {})
}

export async function explainEntry(options: PolicyOptions, decisionId: string): Promise<number> {
  for await (const entry of readDecisionLog(options.log, warnDamaged)) {
    if (entry.id !== decisionId) continue
    const { id, at, revision, allow, masked = false, input } = entry
    return printExplanation(options, input, {
      id,
      at: new Date(at).toISOString(),
      revision,
      allow,
      masked,
      input,
    })
  }
  throw new Error(
    `${options.log} has no decision "${decisionId}". Set --log to the decision log that contains this decision_id.`,
  )
}

/** @param recorded the log entry of the decision; {} without a log */
async function printExplanation(
  options: PolicyOptions,
  input: PolicyInput,
  recorded: object,
): Promise<number> {
  const bundle = readFileSync(options.bundle)
  const policy = await preparePolicy(bundle)
  const explanation = await explain(policy, readBundle(bundle).rules, input)
  policy.close()
  if (options.json) {
    const logged = Object.keys(recorded).length === 0 ? {} : { recorded }
    print(`${JSON.stringify({ ...explanation, revision: policy.revision, ...logged }, undefined, 2)}\n`)
  } else {
    for (const [name, value] of Object.entries(recorded)) {
      print(`${name}: ${typeof value === 'string' ? value : JSON.stringify(value)}\n`)
    }
    print(textOf(explanation, policy.revision))
  }
  return explanation.allow ? EXIT.ok : EXIT.failed
}

function textOf({ allow, reasons, obligations, missingScopes }: Explanation, revision: string): string {
  const lines = [`${allow ? 'allowed' : 'denied'} by revision ${revision}`]
  for (const { code, message, rules } of reasons) {
    lines.push(`  ${code}: ${message}`)
    for (const { file, line, title } of rules) lines.push(`    ${file}:${line} ${title}`)
  }
  for (const [name, parameters] of Object.entries(obligations ?? {})) {
    lines.push(`  obligation ${name}: ${JSON.stringify(parameters)}`)
  }
  if (!allow && missingScopes !== undefined)
    lines.push(`  the call would be allowed with the additional scopes: ${missingScopes.join(' ')}`)
  if (!allow && missingScopes === undefined) lines.push('  additional scopes would not change the denial')
  return `${lines.join('\n')}\n`
}

export async function replayLog(options: PolicyOptions): Promise<number> {
  const policy = await preparePolicy(readFileSync(options.bundle))
  const found = await replay(readDecisionLog(options.log, warnDamaged), policy)
  policy.close()
  return printReplay(options, found, 'from the log')
}

export async function diff(options: PolicyOptions, candidate: string): Promise<number> {
  const before = await preparePolicy(readFileSync(options.bundle))
  const after = await preparePolicy(readFileSync(candidate))
  const found = await replay(readDecisionLog(options.log, warnDamaged), after, before)
  before.close()
  after.close()
  return printReplay(options, found, `between revision ${before.revision} and ${after.revision}`)
}

function printReplay(options: PolicyOptions, found: DecisionReplay, compared: string): number {
  if (options.json) print(`${JSON.stringify(found, undefined, 2)}\n`)
  else {
    const { total, flipped, skipped, masked, flips } = found
    print(`${flipped} of ${total} decisions differ ${compared}\n`)
    if (skipped > 0)
      print(
        `${skipped} logged decisions were skipped: the policy was unavailable when the gateway logged these decisions\n`,
      )
    if (masked > 0)
      print(
        `${masked} logged inputs have masked arguments: rules that read arguments may decide differently here than in the gateway\n`,
      )
    for (const flip of flips.slice(0, SHOWN_FLIPS)) print(decisionLine(flip))
    if (flips.length > SHOWN_FLIPS)
      print(`  and ${flips.length - SHOWN_FLIPS} more kinds of differences; use --json to print all\n`)
  }
  return found.flipped > options.maxFlips ? EXIT.failed : EXIT.ok
}

/** The line of one kind of flip. */
export function decisionLine({ direction, rule, action, resource, consumer, count, examples }: Flip): string {
  const calls = shownText(`${rule} ${action} ${resource} by ${consumer} (${examples.join(', ')})`)
  return `  ${direction} ${String(count).padStart(6)} × ${calls}\n`
}

function warnDamaged(file: string, line: number): void {
  printProgress(`${file}:${line} is not a valid decision log entry and was skipped`)
}

/** @throws Error if one of the objects is missing; fields within them are left to the rules */
function parsedInput(text: string): PolicyInput {
  let input: unknown
  try {
    input = readJson(text)
  } catch (error) {
    throw new Error(`the policy input is not valid JSON (${(error as Error).message})`)
  }
  for (const path of [
    'subject',
    'subject.properties',
    'action',
    'resource',
    'resource.properties',
    'context',
  ]) {
    const part = path.split('.').reduce<unknown>((of, key) => Object(of)[key], input)
    if (typeof part !== 'object' || part === null) {
      throw new Error(
        `the policy input has no object "${path}"; see schemas/input.json in the directory of the policies`,
      )
    }
  }
  return input as PolicyInput
}
