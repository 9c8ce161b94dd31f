/** `toolgate policy new|watch`: writes a new rule, or tests and rebuilds the policies when their files change. */
import { existsSync, readFileSync, renameSync, watch, writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import type { DecisionEntry } from '../../../policy/log/entry.ts'
import { replay } from '../../../policy/log/replay.ts'
import { lastDecisions } from '../../../policy/log/tail.ts'
import { checkPolicies } from '../../../policy/workshop/check.ts'
import { writeNewRule } from '../../../policy/workshop/new-rule.ts'
import { EXIT, print, printProgress } from '../command.ts'
import { createBundle } from './build.ts'
import { decisionLine, preparePolicy } from './evaluate.ts'
import type { PolicyOptions } from './options.ts'
import { requireOpa, requireRegal } from './programs.ts'

/** An editor saves in several steps. */
const SETTLE_MS = 150
/** Recent decisions evaluated again on each save. */
const RECENT_DECISIONS = 1000
const SHOWN_FLIPS = 20

export async function newRule({ dir, json }: PolicyOptions, name: string): Promise<number> {
  const files = writeNewRule(dir, name)
  print(json ? `${JSON.stringify({ files })}\n` : `${files.join('\n')}\nNext: toolgate policy test\n`)
  return EXIT.ok
}

/** Until SIGINT or SIGTERM. */
export async function watchPolicies(options: PolicyOptions): Promise<number> {
  const stop = new AbortController()
  const end = (): void => stop.abort()
  process.once('SIGINT', end)
  process.once('SIGTERM', end)
  try {
    await followChanges(options, stop.signal)
    return EXIT.ok
  } finally {
    process.off('SIGINT', end)
    process.off('SIGTERM', end)
  }
}

/** Tests and builds now and after each save, one after the other. Resolves after `stop`. */
export async function followChanges(options: PolicyOptions, stop: AbortSignal): Promise<void> {
  await requireOpa(options.tools, process.env, printProgress)
  await requireRegal(options.tools, process.env, printProgress)
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
      await onSave(options).catch(error => print(`${(error as Error).message}\n`))
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
  for (const { name, detail } of failed) print(`FAIL ${name}: ${detail}\n`)
  if (failed.length > 0) {
    print('the bundle was not built; the bundle file is unchanged\n')
    return
  }
  const built = await createBundle(options)
  const before = existsSync(options.bundle) ? readFileSync(options.bundle) : undefined
  if (before?.equals(built.archive) === true) {
    print(`ok, revision ${built.revision} is unchanged\n`)
    return
  }
  const changed = before === undefined ? '' : await describeFlips(options, before, built.archive)
  writeFileSync(`${options.bundle}.next`, built.archive)
  renameSync(`${options.bundle}.next`, options.bundle)
  print(`ok, revision ${built.revision}: ${options.bundle}\n${changed}`)
}

/** @returns the recent decisions that `after` changes, as text */
async function describeFlips(options: PolicyOptions, before: Uint8Array, after: Uint8Array): Promise<string> {
  const decisions = lastDecisions(options.log, RECENT_DECISIONS)
  if (decisions.length === 0) return `the decision log ${options.log} contains no decisions to compare\n`
  const [previous, next] = [await preparePolicy(before), await preparePolicy(after)]
  try {
    const { total, flipped, flips } = await replay(iterate(decisions), next, previous)
    const lines = flips.slice(0, SHOWN_FLIPS).map(decisionLine)
    return `the new bundle changes ${flipped} of the last ${total} logged decisions\n${lines.join('')}`
  } finally {
    previous.close()
    next.close()
  }
}

async function* iterate(entries: readonly DecisionEntry[]): AsyncGenerator<DecisionEntry> {
  yield* entries
}
