/** What an entrypoint reads of its input (METADATA `custom.reads`), and what follows from it. It evaluates and remembers nothing. */
import type { PolicyInput } from './engine.ts'

/** Every path of the input that a rule may read; `schemas/input.json` says the same to rego authors. */
export const INPUT_PATHS = [
  'subject.type',
  'subject.id',
  'subject.properties.consumer',
  'subject.properties.tenant',
  'subject.properties.roles',
  'subject.properties.scopes',
  'action.name',
  'resource.type',
  'resource.id',
  'resource.properties.tenant',
  'resource.properties.own',
  'resource.properties.toolSet',
  'resource.properties.tags',
  'resource.properties.annotations',
  'context.access',
  'context.time',
  'context.plan',
  'context.arguments',
] as const

export type InputPath = (typeof INPUT_PATHS)[number]

export interface Reads {
  /** As declared, sorted. */
  readonly paths: readonly string[]
  /** Whether the entrypoint reads the path, or something above or below it. */
  touches(path: InputPath): boolean
  /** False when it reads what differs at every call: such decisions are made anew each time. */
  readonly rememberable: boolean
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
      throw new Error(`reads names "${path}", which is no part of the input; see schemas/input.json`)
    }
    for (const known of fits) touched.add(known)
  }
  return Object.freeze({
    paths: Object.freeze([...paths].sort()),
    touches: (path: InputPath) => touched.has(path),
    rememberable: !touched.has('context.arguments') && !touched.has('context.time'),
  })
}

function within(path: string, above: string): boolean {
  return path === above || path.startsWith(`${above}.`)
}

/** Paths of `found` that `declared` does not cover. */
export function uncovered(found: readonly string[], declared: readonly string[]): string[] {
  return found.filter(path => !declared.some(above => above === '' || within(path, above)))
}

/**
 * Leaves out of an input what the entrypoint does not read: shorter to encode, cheaper to parse.
 * Only for reads that were found by analysis: leaving out what a rule reads would change its answer.
 */
export function projection(reads: Reads): (input: PolicyInput) => PolicyInput {
  if (INPUT_PATHS.every(path => reads.touches(path))) return input => input
  const has = Object.fromEntries(INPUT_PATHS.map(path => [path, reads.touches(path)])) as Record<
    InputPath,
    boolean
  >
  const keep = {
    subjectType: has['subject.type'],
    subjectId: has['subject.id'],
    consumer: has['subject.properties.consumer'],
    subjectTenant: has['subject.properties.tenant'],
    roles: has['subject.properties.roles'],
    scopes: has['subject.properties.scopes'],
    resourceType: has['resource.type'],
    resourceId: has['resource.id'],
    resourceTenant: has['resource.properties.tenant'],
    own: has['resource.properties.own'],
    toolSet: has['resource.properties.toolSet'],
    tags: has['resource.properties.tags'],
    annotations: has['resource.properties.annotations'],
    access: has['context.access'],
    time: has['context.time'],
    plan: has['context.plan'],
    arguments: has['context.arguments'],
  }
  // undefined fields vanish in JSON
  return ({ subject, action, resource, context }) =>
    ({
      subject: {
        type: keep.subjectType ? subject.type : undefined,
        id: keep.subjectId ? subject.id : undefined,
        properties: {
          consumer: keep.consumer ? subject.properties.consumer : undefined,
          tenant: keep.subjectTenant ? subject.properties.tenant : undefined,
          roles: keep.roles ? subject.properties.roles : undefined,
          scopes: keep.scopes ? subject.properties.scopes : undefined,
        },
      },
      action,
      resource: {
        type: keep.resourceType ? resource.type : undefined,
        id: keep.resourceId ? resource.id : undefined,
        properties: {
          tenant: keep.resourceTenant ? resource.properties.tenant : undefined,
          own: keep.own ? resource.properties.own : undefined,
          toolSet: keep.toolSet ? resource.properties.toolSet : undefined,
          tags: keep.tags ? resource.properties.tags : undefined,
          annotations: keep.annotations ? resource.properties.annotations : undefined,
        },
      },
      context: {
        access: keep.access ? context.access : undefined,
        time: keep.time ? context.time : undefined,
        plan: keep.plan ? context.plan : undefined,
        arguments: keep.arguments ? context.arguments : undefined,
      },
    }) as PolicyInput
}
