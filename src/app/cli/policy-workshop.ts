/** `toolgate policy build|test`: what needs the `opa` program. It prints; the work is done in `policy/workshop`. */
import { writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { createBundleTrial } from '../../shared/policy/opa-wasm/trial.ts'
import { type Built, buildBundle } from '../../shared/policy/workshop/build.ts'
import { checkPolicies } from '../../shared/policy/workshop/check.ts'
import { requireOpa } from '../../shared/policy/workshop/opa.ts'
import { requireRegal } from '../../shared/policy/workshop/regal.ts'
import type { PolicyOptions } from './policy-options.ts'

function say(line: string): void {
  process.stderr.write(`${line}\n`)
}

function opaOf({ tools }: PolicyOptions): Promise<string> {
  return requireOpa(tools, process.env, say)
}

/** Built, and tried as a gateway would. */
export async function builtBundle(options: PolicyOptions): Promise<Built> {
  const trial = createBundleTrial()
  try {
    return await buildBundle({
      dir: resolve(options.dir),
      opa: await opaOf(options),
      env: process.env,
      trial: bundle => trial.run(bundle, []),
      ...(options.signingKey === '' ? {} : { signingKey: options.signingKey }),
      ...(options.signingAlg === '' ? {} : { signingAlgorithm: options.signingAlg }),
    })
  } finally {
    await trial.close()
  }
}

export async function build(options: PolicyOptions): Promise<number> {
  const built = await builtBundle(options)
  writeFileSync(options.bundle, built.archive)
  const summary = {
    bundle: options.bundle,
    revision: built.revision,
    bytes: built.archive.length,
    cached: built.cacheable,
    reads: built.reads,
  }
  const cached = built.cacheable
    ? 'remembered'
    : 'made anew at every call, because rules read time or arguments'
  process.stdout.write(
    options.json
      ? `${JSON.stringify(summary, undefined, 2)}\n`
      : `${options.bundle}: revision ${built.revision}, ${built.archive.length} bytes; decisions are ${cached}\n`,
  )
  return 0
}

export async function test(options: PolicyOptions): Promise<number> {
  const steps = await checkPolicies({
    dir: resolve(options.dir),
    opa: await opaOf(options),
    env: process.env,
    regal: await requireRegal(options.tools, process.env, say),
  })
  if (options.json) process.stdout.write(`${JSON.stringify(steps, undefined, 2)}\n`)
  else
    for (const { name, ok, detail } of steps)
      process.stdout.write(`${ok ? 'ok  ' : 'FAIL'} ${name}: ${detail}\n`)
  return steps.every(step => step.ok) ? 0 : 1
}
