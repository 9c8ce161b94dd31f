/** Finds the pinned `regal`, the linter of Rego. `app/cli/policy/programs.ts` downloads it. */
import { resolve } from 'node:path'
import { isExecutable } from './opa.ts'

export const REGAL_VERSION = '0.35.1'

/** The version stands in the name: what Go builds as a part of another module does not know its own. */
export function regalIn(toolsDir: string): string {
  return resolve(toolsDir, `regal-${REGAL_VERSION}${process.platform === 'win32' ? '.exe' : ''}`)
}

/** @returns the address of the program; undefined when it is not in the tools folder. */
export function findRegal(toolsDir: string): string | undefined {
  const program = regalIn(toolsDir)
  return isExecutable(program) ? program : undefined
}
