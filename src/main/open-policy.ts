/** Prepares the policy that the settings choose. It asks no question. */
import { readFileSync } from 'node:fs'
import type { PreparedPolicy } from '../policy/engine.ts'
import { createOpaHttpEngine } from '../policy/opa-http/engine.ts'
import { createOpaWasmEngine } from '../policy/opa-wasm/engine.ts'
import type { Ground } from './ground.ts'

/** One for each plane and thread: the numbers of their questions are not the same. */
export async function openPolicy({ settings, egress, log, closers }: Ground): Promise<PreparedPolicy> {
  const { engine, url, bundle } = settings.policy
  const prepared =
    engine === 'opa-http'
      ? await createOpaHttpEngine({ url: url!, egress, log }).prepare(new Uint8Array())
      : await createOpaWasmEngine({ log }).prepare(readFileSync(bundle))
  closers.add('policy', () => prepared.close())
  return prepared
}
