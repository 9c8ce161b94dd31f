/** The paths of the policy input, sets of them that an entrypoint reads, and whether decisions on these may be cached. */

/** Every path of the input that a rule may read; `schemas/input.json` says the same to rego authors. */
export const INPUT_PATHS = [
  'subject.type',
  'subject.id',
  'subject.properties.consumer',
  'subject.properties.tenant',
  'subject.properties.roles',
  'subject.properties.scopes',
  'subject.properties.rights',
  'action.name',
  'resource.type',
  'resource.id',
  'resource.properties.tenant',
  'resource.properties.own',
  'resource.properties.toolSet',
  'resource.properties.source',
  'resource.properties.tags',
  'resource.properties.annotations',
  'context.access',
  'context.time',
  'context.plan',
  'context.arguments',
  'context.answers',
] as const

export type InputPath = (typeof INPUT_PATHS)[number]

const DIFFERENT_EACH_TIME: readonly InputPath[] = ['context.arguments', 'context.answers', 'context.time']

export interface Reads {
  /** As declared, sorted. */
  readonly paths: readonly string[]
  /** Whether the entrypoint reads the path, or something above or below it. */
  touches(path: InputPath): boolean
  /** False when it reads what differs at every call: such decisions are made again each time. */
  readonly cacheable: boolean
}

/** For a bundle that declares nothing: it may read everything. */
export const READS_ALL: Reads = readsOf([''])

/**
 * @param paths dotted, without `input.`; a path stands for all that is below it, '' for the whole input.
 * @throws Error when a path is none of the input's.
 */
export function readsOf(paths: readonly string[]): Reads {
  const touched = new Set<InputPath>()
  for (const path of paths) {
    const fits = INPUT_PATHS.filter(known => path === '' || within(known, path) || within(path, known))
    if (fits.length === 0) {
      throw new Error(
        `custom.reads names "${path}", which is not a field of the policy input; see schemas/input.json`,
      )
    }
    for (const known of fits) touched.add(known)
  }
  return Object.freeze({
    paths: Object.freeze([...paths].sort()),
    touches: (path: InputPath) => touched.has(path),
    cacheable: DIFFERENT_EACH_TIME.every(path => !touched.has(path)),
  })
}

function within(path: string, above: string): boolean {
  return path === above || path.startsWith(`${above}.`)
}

/** Paths of `found` that `declared` does not cover. */
export function uncovered(found: readonly string[], declared: readonly string[]): string[] {
  return found.filter(path => !declared.some(above => above === '' || within(path, above)))
}
