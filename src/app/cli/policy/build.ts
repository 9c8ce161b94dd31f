/** `toolgate policy build|test`: builds and checks the policies with `opa` and `regal` and prints the result. */
import { writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { createBundleTrial } from '../../../policy/opa-wasm/trial.ts'
import { type Built, buildBundle } from '../../../policy/workshop/build.ts'
import { checkPolicies } from '../../../policy/workshop/check.ts'
import { EXIT, print, printProgress } from '../command.ts'
import type { PolicyOptions } from './options.ts'
import { requireOpa, requireRegal } from './programs.ts'

function opaOf({ tools }: PolicyOptions): Promise<string> {
  return requireOpa(tools, process.env, printProgress)
}

/** Builds the bundle and tries it as a gateway would. */
export async function createBundle(options: PolicyOptions): Promise<Built> {
  const trial = createBundleTrial()
  try {
    return await buildBundle({
      dir: resolve(options.dir),
      opa: await opaOf(options),
      env: process.env,
      trial: bundle => trial.run(bundle, []),
      ...(options.signingKey === undefined ? {} : { signingKey: options.signingKey }),
      ...(options.signingAlg === undefined ? {} : { signingAlgorithm: options.signingAlg }),
    })
  } finally {
    await trial.close()
  }
}

export async function build(options: PolicyOptions): Promise<number> {
  const built = await createBundle(options)
  writeFileSync(options.bundle, built.archive)
  const summary = {
    bundle: options.bundle,
    revision: built.revision,
    bytes: built.archive.length,
    cached: built.cacheable,
    reads: built.reads,
  }
  const caching = built.cacheable
    ? 'cached'
    : 'not cached, because rules use the time, call arguments or client responses'
  print(
    options.json
      ? `${JSON.stringify(summary, undefined, 2)}\n`
      : `${options.bundle}: revision ${built.revision}, ${built.archive.length} bytes; decisions are ${caching}\n`,
  )
  return EXIT.ok
}

export async function test(options: PolicyOptions): Promise<number> {
  const steps = await checkPolicies({
    dir: resolve(options.dir),
    opa: await opaOf(options),
    env: process.env,
    regal: await requireRegal(options.tools, process.env, printProgress),
  })
  if (options.json) print(`${JSON.stringify(steps, undefined, 2)}\n`)
  else for (const { name, ok, detail } of steps) print(`${ok ? 'ok  ' : 'FAIL'} ${name}: ${detail}\n`)
  return steps.every(step => step.ok) ? EXIT.ok : EXIT.failed
}
