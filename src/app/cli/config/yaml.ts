/** Reads and writes YAML of a configuration, and keeps numbers that a double would change. */
import { LineCounter, parseDocument, type ScalarTag, stringify } from 'yaml'
import { ExactNumber } from '../../../base/json/exact-number.ts'
import { EXACT_NUMBERS } from '../../../catalog/document/yaml-numbers.ts'
import { CommandFailure } from '../command.ts'

const MAX_ALIASES = 1_000

const exactNumber: ScalarTag = {
  tag: 'tag:yaml.org,2002:float',
  default: true,
  identify: value => value instanceof ExactNumber,
  // never used: reading has separate tags
  test: /^$a/,
  resolve: text => text,
  stringify: ({ value }) => (value as ExactNumber).text,
}

export function writeYaml(value: unknown): string {
  return stringify(value, { lineWidth: 0, aliasDuplicateObjects: false, customTags: [exactNumber] })
}

/** @throws CommandFailure that names the file, and the line of a fault of the syntax */
export function readYaml(file: string, text: string): unknown {
  const lines = new LineCounter()
  try {
    const document = parseDocument(text, {
      ...EXACT_NUMBERS,
      merge: true,
      lineCounter: lines,
      prettyErrors: false,
    })
    const fault = document.errors[0]
    if (fault !== undefined)
      throw new CommandFailure(`${file}:${lines.linePos(fault.pos[0]).line}: ${fault.message}`)
    return document.toJS({ maxAliasCount: MAX_ALIASES })
  } catch (error) {
    if (error instanceof CommandFailure) throw error
    // aliases that expand too far or have no anchor, or values that are nested too deeply
    throw new CommandFailure(`${file} is not valid YAML: ${(error as Error).message}`)
  }
}
