/** `toolgate policy eval|explain|replay|diff`: what asks built bundles. It prints; the work is done in `policy/`. */
import { readFileSync } from 'node:fs'
import { readBundle } from '../../shared/policy/bundle.ts'
import type { PolicyInput, PreparedPolicy } from '../../shared/policy/engine.ts'
import { type Explanation, explain } from '../../shared/policy/log/explain.ts'
import type { Flip } from '../../shared/policy/log/flips.ts'
import { readDecisionLog } from '../../shared/policy/log/reader.ts'
import { type Replay, replay } from '../../shared/policy/log/replay.ts'
import { createOpaWasmEngine } from '../../shared/policy/opa-wasm/engine.ts'
import type { PolicyOptions } from './policy-options.ts'

/** At the desk nobody waits: a slow machine must not turn an answer into a denial. */
const MAX_EVALUATION_MS = 1000
const SHOWN_FLIPS = 50

/** A bundle made ready for the desk. */
export function prepared(bundle: Uint8Array): Promise<PreparedPolicy> {
  const onFailure = (failure: string, detail: string) =>
    process.stderr.write(`the policy could not decide: ${failure}: ${detail}\n`)
  return createOpaWasmEngine({ maxEvaluationMs: MAX_EVALUATION_MS, onFailure }).prepare(bundle)
}

export async function evaluate(options: PolicyOptions): Promise<number> {
  const input = parsedInput(readFileSync(options.input === '-' ? 0 : options.input, 'utf8'))
  return printExplanation(options, input, {})
}

export async function explainEntry(options: PolicyOptions): Promise<number> {
  for await (const entry of readDecisionLog(options.log, warnDamaged)) {
    if (entry.id !== options.operand) continue
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
  throw new Error(`${options.log} holds no decision "${options.operand}"`)
}

/** @param recorded what the log says of the decision; {} when it comes from no log. */
async function printExplanation(
  options: PolicyOptions,
  input: PolicyInput,
  recorded: object,
): Promise<number> {
  const bundle = readFileSync(options.bundle)
  const policy = await prepared(bundle)
  const explanation = await explain(policy, readBundle(bundle).rules, input)
  policy.close()
  if (options.json) {
    const logged = Object.keys(recorded).length === 0 ? {} : { recorded }
    process.stdout.write(
      `${JSON.stringify({ ...explanation, revision: policy.revision, ...logged }, undefined, 2)}\n`,
    )
  } else {
    for (const [name, value] of Object.entries(recorded)) {
      process.stdout.write(`${name}: ${typeof value === 'string' ? value : JSON.stringify(value)}\n`)
    }
    process.stdout.write(textOf(explanation, policy.revision))
  }
  return explanation.allow ? 0 : 1
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
    lines.push(`  allowed with the scopes: ${missingScopes.join(' ')}`)
  if (!allow && missingScopes === undefined) lines.push('  no scope would change that')
  return `${lines.join('\n')}\n`
}

export async function replayLog(options: PolicyOptions): Promise<number> {
  const policy = await prepared(readFileSync(options.bundle))
  const found = await replay(readDecisionLog(options.log, warnDamaged), policy)
  policy.close()
  return printReplay(options, found, 'than the log says')
}

export async function diff(options: PolicyOptions): Promise<number> {
  const before = await prepared(readFileSync(options.bundle))
  const after = await prepared(readFileSync(options.operand))
  const found = await replay(readDecisionLog(options.log, warnDamaged), after, before)
  before.close()
  after.close()
  return printReplay(options, found, `by ${after.revision} than by ${before.revision}`)
}

function printReplay(options: PolicyOptions, found: Replay, compared: string): number {
  if (options.json) process.stdout.write(`${JSON.stringify(found, undefined, 2)}\n`)
  else {
    const { total, flipped, skipped, masked, flips } = found
    process.stdout.write(`${flipped} of ${total} decisions come out otherwise ${compared}\n`)
    if (skipped > 0)
      process.stdout.write(`${skipped} were left out: no policy could decide them at the time\n`)
    if (masked > 0)
      process.stdout.write(
        `${masked} have masked arguments: rules that read those may decide otherwise here\n`,
      )
    for (const flip of flips.slice(0, SHOWN_FLIPS)) process.stdout.write(lineOf(flip))
    if (flips.length > SHOWN_FLIPS)
      process.stdout.write(`  and ${flips.length - SHOWN_FLIPS} more kinds; --json shows all\n`)
  }
  return found.flipped > options.maxFlips ? 1 : 0
}

/** One kind of flips. */
export function lineOf({ direction, rule, action, resource, consumer, count, examples }: Flip): string {
  return `  ${direction} ${String(count).padStart(6)} × ${rule} ${action} ${resource} by ${consumer} (${examples.join(', ')})\n`
}

function warnDamaged(file: string, line: number): void {
  process.stderr.write(`${file}:${line} is no entry and was left out\n`)
}

/** @throws Error unless the parts are there; what is missing within them the rules may judge. */
function parsedInput(text: string): PolicyInput {
  let input: unknown
  try {
    input = JSON.parse(text)
  } catch (error) {
    throw new Error(`the input is no JSON (${(error as Error).message})`)
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
      throw new Error(`the input lacks the object "${path}"; see schemas/input.json beside the policies`)
    }
  }
  return input as PolicyInput
}
