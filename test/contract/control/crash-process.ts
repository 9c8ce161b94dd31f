/** Starts the process of `crash-child.ts`, which a test kills. */
import { type ChildProcess, spawn } from 'node:child_process'
import { join } from 'node:path'
import { bundledScript } from '../../fixtures/bundled-script.ts'

const CHILD = join(import.meta.dirname, 'crash-child.ts')

export interface CrashProcess {
  readonly child: ChildProcess
  /** Without `/v1`. */
  readonly url: string
}

export async function startCrashProcess(url: string, dataDir: string): Promise<CrashProcess> {
  const child = spawn(process.execPath, [await bundledScript(CHILD), url, dataDir], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const address = await new Promise<string>((resolve, reject) => {
    child.stdout!.once('data', (chunk: Buffer) => resolve(chunk.toString().trim()))
    child.once('exit', code => reject(new Error(`the control plane ended with ${code} before it was ready`)))
  })
  return { child, url: address }
}
