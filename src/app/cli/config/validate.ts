/** `toolgate config validate`: checks files. */
import { isObject } from '../../../base/json/is-object.ts'
import { CommandFailure, EXIT, print } from '../command.ts'
import { readTree } from './files.ts'
import type { ConfigOptions } from './options.ts'

export function validateTree({ json }: ConfigOptions, files: readonly string[]): number {
  try {
    const tree = readTree(files)
    const tenants = isObject(tree.tenants) ? Object.keys(tree.tenants).length : 0
    print(
      json ? `${JSON.stringify({ valid: true })}\n` : `The configuration is valid. Tenants: ${tenants}.\n`,
    )
    return EXIT.ok
  } catch (error) {
    if (!json || !(error instanceof CommandFailure)) throw error
    print(`${JSON.stringify({ valid: false, message: error.message })}\n`)
    return EXIT.failed
  }
}
