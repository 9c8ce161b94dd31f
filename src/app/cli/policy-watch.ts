/** `toolgate policy new|watch`: the loop of an author. It prints; the work is done in `policy/`. */
import { existsSync, readFileSync, renameSync, watch, writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import type { DecisionEntry } from '../../shared/policy/log/entry.ts'
import { replay } from '../../shared/policy/log/replay.ts'
import { lastDecisions } from '../../shared/policy/log/tail.ts'
import { checkPolicies } from '../../shared/policy/workshop/check.ts'
import { writeNewRule } from '../../shared/policy/workshop/new-rule.ts'
import { requireOpa } from '../../shared/policy/workshop/opa.ts'
import { requireRegal } from '../../shared/policy/workshop/regal.ts'
import { lineOf, prepared } from './policy-ask.ts'
import type { PolicyOptions } from './policy-options.ts'
import { builtBundle } from './policy-workshop.ts'

/** An editor saves in several steps. */
const SETTLE_MS = 150
/** Decisions a change is tried on at each save. */
const TRIED_DECISIONS = 1000
const SHOWN_FLIPS = 20

export async function newRule(options: PolicyOptions): Promise<number> {
  const files = writeNewRule(options.dir, options.operand)
  process.stdout.write(`${files.join('\n')}\nNext: npm run policy:test\n`)
  return 0
}

/** Until SIGINT or SIGTERM. */
export async function watchPolicies(options: PolicyOptions): Promise<number> {
  const stop = new AbortController()
  const end = (): void => stop.abort()
  process.once('SIGINT', end)
  process.once('SIGTERM', end)
  try {
    await followChanges(options, stop.signal)
    return 0
  } finally {
    process.off('SIGINT', end)
    process.off('SIGTERM', end)
  }
}

/** Tests and builds now and after each save, one after the other. Resolves when it is told to stop. */
export async function followChanges(options: PolicyOptions, stop: AbortSignal): Promise<void> {
  const say = (line: string): void => void process.stderr.write(`${line}\n`)
  await requireOpa(options.tools, process.env, say)
  await requireRegal(options.tools, process.env, say)
  let changed = true
  let wake: (() => void) | undefined
  const watcher = watch(resolve(options.dir), { recursive: true }, (_, name) => {
    if (name !== null && !/\.(rego|ya?ml|json)$/.test(name)) return
    changed = true
    wake?.()
  })
  stop.addEventListener('abort', () => wake?.())
  try {
    while (!stop.aborted) {
      if (!changed) await new Promise<void>(resume => (wake = resume))
      wake = undefined
      if (stop.aborted) break
      await new Promise(resume => setTimeout(resume, SETTLE_MS))
      changed = false
      await onSave(options).catch(error => process.stdout.write(`${(error as Error).message}\n`))
    }
  } finally {
    watcher.close()
  }
}

async function onSave(options: PolicyOptions): Promise<void> {
  const steps = await checkPolicies({
    dir: resolve(options.dir),
    opa: await requireOpa(options.tools, process.env, () => {}),
    regal: await requireRegal(options.tools, process.env, () => {}),
    env: process.env,
  })
  const failed = steps.filter(step => !step.ok)
  for (const { name, detail } of failed) process.stdout.write(`FAIL ${name}: ${detail}\n`)
  if (failed.length > 0) {
    process.stdout.write('not built: the gateway goes on with the bundle before\n')
    return
  }
  const built = await builtBundle(options)
  const before = existsSync(options.bundle) ? readFileSync(options.bundle) : undefined
  if (before?.equals(built.archive) === true) {
    process.stdout.write(`ok, revision ${built.revision} as before\n`)
    return
  }
  const turned = before === undefined ? '' : await flipsOf(options, before, built.archive)
  writeFileSync(`${options.bundle}.next`, built.archive)
  renameSync(`${options.bundle}.next`, options.bundle)
  process.stdout.write(`ok, revision ${built.revision}: ${options.bundle}\n${turned}`)
}

/** Which of the last decisions come out otherwise. */
async function flipsOf(options: PolicyOptions, before: Uint8Array, after: Uint8Array): Promise<string> {
  const decisions = lastDecisions(options.log, TRIED_DECISIONS)
  if (decisions.length === 0) return `no decisions in ${options.log} to compare with\n`
  const [one, other] = [await prepared(before), await prepared(after)]
  try {
    const { total, flipped, flips } = await replay(oneByOne(decisions), other, one)
    const lines = flips.slice(0, SHOWN_FLIPS).map(lineOf)
    return `${flipped} of the last ${total} decisions turned\n${lines.join('')}`
  } finally {
    one.close()
    other.close()
  }
}

async function* oneByOne(entries: readonly DecisionEntry[]): AsyncGenerator<DecisionEntry> {
  yield* entries
}
