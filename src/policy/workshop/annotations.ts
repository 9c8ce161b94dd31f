/** Reads the METADATA of rules from the output of `opa inspect -a`: rules with a reason code, and faults to fix. */
import type { BundleRule } from '../bundle.ts'

export interface InspectedRules {
  /** One for each rule that denies with a code, in the order of code, file and line. */
  readonly coded: readonly BundleRule[]
  /** What an author has to fix, each a sentence beginning with file and line. */
  readonly faults: readonly string[]
}

interface Annotated {
  readonly annotations: {
    readonly scope: string
    readonly title?: string
    readonly description?: string
    readonly schemas?: readonly { readonly definition?: unknown }[]
    readonly custom?: { readonly reason_code?: unknown }
  }
  readonly location: { readonly file: string; readonly row: number }
  readonly path: readonly { readonly value: string }[]
}

/** Where METADATA contains its own schema, each as `{file}:{line}`: the compiler opens the files that such a schema refers to. */
export function ownSchemas(output: string): readonly string[] {
  const { annotations = [] } = JSON.parse(output) as { annotations?: Annotated[] }
  return annotations
    .filter(({ annotations: { schemas = [] } }) => schemas.some(({ definition }) => definition !== undefined))
    .map(({ location }) => `${location.file}:${location.row}`)
}

const CODE = /^[a-z][a-z0-9_]{0,63}$/

export function inspectRules(output: string): InspectedRules {
  const { annotations = [] } = JSON.parse(output) as { annotations?: Annotated[] }
  const coded: BundleRule[] = []
  const faults: string[] = []
  for (const { annotations: says, location, path } of annotations) {
    const at = `${location.file}:${location.row}`
    if (says.title === undefined) faults.push(`${at} has METADATA without a title.`)
    if (says.scope === 'package' && says.description === undefined) {
      faults.push(`${at} is a package whose METADATA has no description.`)
    }
    if (says.scope !== 'rule' || path.at(-1)?.value !== 'deny') continue
    const code = says.custom?.reason_code
    if (typeof code !== 'string' || !CODE.test(code)) {
      faults.push(`${at} is a deny rule without a custom.reason_code in snake_case.`)
      continue
    }
    coded.push({ code, title: says.title ?? '', file: location.file, line: location.row })
  }
  return { coded: coded.sort(byCodeFileAndLine), faults: [...faults, ...sharedCodes(coded)].sort() }
}

/** A code says which rule it was: two packages must not share one. */
function sharedCodes(coded: readonly BundleRule[]): string[] {
  const owner = new Map<string, string>()
  const faults: string[] = []
  for (const { code, file, line } of coded) {
    const first = owner.get(code)
    if (first === undefined) owner.set(code, file)
    else if (first !== file)
      faults.push(
        `${file}:${line} denies with "${code}", which is already the reason_code of a rule in ${first}.`,
      )
  }
  return faults
}

function byCodeFileAndLine(a: BundleRule, b: BundleRule): number {
  if (a.code !== b.code) return a.code < b.code ? -1 : 1
  if (a.file !== b.file) return a.file < b.file ? -1 : 1
  return a.line - b.line
}
