/** Writes a policy input as JSON, and leaves out facts that the policy does not read. It does not find out which facts are read. */
import { writeJson } from '../base/json/exact-number.ts'
import type { PolicyInput } from './engine.ts'
import type { InputPath, Reads } from './reads.ts'

/**
 * Only for reads that were found by analysis: leaving out what a rule does read would change its decision.
 * The subject's part is kept from one call to the next, because one caller asks about many resources.
 */
export function inputEncoder(reads: Reads): (input: PolicyInput) => string {
  const subject = section<PolicyInput['subject']>(reads, {
    'subject.type': ['type', of => of.type],
    'subject.id': ['id', of => of.id],
  })
  const subjectProperties = section<PolicyInput['subject']['properties']>(reads, {
    'subject.properties.consumer': ['consumer', of => of.consumer],
    'subject.properties.tenant': ['tenant', of => of.tenant],
    'subject.properties.roles': ['roles', of => of.roles],
    'subject.properties.scopes': ['scopes', of => of.scopes],
    'subject.properties.rights': ['rights', of => of.rights],
  })
  const resource = section<PolicyInput['resource']>(reads, {
    'resource.type': ['type', of => of.type],
    'resource.id': ['id', of => of.id],
  })
  const resourceProperties = section<PolicyInput['resource']['properties']>(reads, {
    'resource.properties.tenant': ['tenant', of => of.tenant],
    'resource.properties.own': ['own', of => of.own],
    'resource.properties.toolSet': ['toolSet', of => of.toolSet],
    'resource.properties.source': ['source', of => of.source],
    'resource.properties.tags': ['tags', of => of.tags],
    'resource.properties.annotations': ['annotations', hintsOf(reads)],
  })
  const context = section<PolicyInput['context']>(reads, {
    'context.access': ['access', of => of.access],
    'context.time': ['time', of => of.time],
    'context.plan': ['plan', of => of.plan],
    'context.arguments': ['arguments', of => of.arguments],
    'context.answers': ['answers', of => of.answers],
  })
  let last: PolicyInput['subject'] | undefined
  let lastText = ''
  return input => {
    if (last === undefined || !sameSubject(last, input.subject)) {
      lastText = `{"subject":{${subject(input.subject)}"properties":{${trimFields(subjectProperties(input.subject.properties))}}}`
      last = lasting(input.subject) ? input.subject : undefined
    }
    const facts = context(input.context)
    const beside = facts === '' ? '' : `,"context":{${trimFields(facts)}}`
    return `${lastText},"action":{"name":${JSON.stringify(input.action.name)}},"resource":{${resource(input.resource)}"properties":{${trimFields(resourceProperties(input.resource.properties))}}}${beside}}`
  }
}

/** Lists that could change without notice are not compared by reference. A principal's are frozen. */
function lasting({ properties }: PolicyInput['subject']): boolean {
  return Object.isFrozen(properties.roles) && Object.isFrozen(properties.scopes)
}

/** By reference where it is a list: a principal is shared by every call of its credential. */
function sameSubject(a: PolicyInput['subject'], b: PolicyInput['subject']): boolean {
  if (a === b) return true
  const [one, other] = [a.properties, b.properties]
  return (
    one.roles === other.roles &&
    one.scopes === other.scopes &&
    one.rights === other.rights &&
    one.tenant === other.tenant &&
    one.consumer === other.consumer &&
    a.id === b.id &&
    a.type === b.type
  )
}

/** Each field that is read as `"name":value,`. */
function section<P>(
  reads: Reads,
  fields: { readonly [path in InputPath]?: readonly [json: string, read: (part: P) => unknown] },
): (part: P) => string {
  const read = Object.entries(fields)
    .filter(([path]) => reads.touches(path as InputPath))
    .map(([, field]) => field)
  return part => {
    let text = ''
    for (const [name, readFrom] of read) {
      const value = readFrom(part)
      if (value !== undefined) text += `"${name}":${writeJson(value)},`
    }
    return text
  }
}

function trimFields(fields: string): string {
  return fields === '' ? '' : fields.slice(0, -1)
}

/** The hints that are read; all of them when the rules read them as a whole. */
function hintsOf(reads: Reads): (properties: PolicyInput['resource']['properties']) => unknown {
  const above = 'resource.properties.annotations'
  const hints = reads.paths
    .filter(path => path.startsWith(`${above}.`))
    .map(path => path.slice(above.length + 1))
  const whole = reads.paths.some(path => above.startsWith(path)) || hints.some(hint => hint.includes('.'))
  if (whole) return of => of.annotations
  return ({ annotations }) => {
    if (annotations === undefined) return undefined
    const kept: Record<string, unknown> = {}
    for (const hint of hints) kept[hint] = annotations[hint]
    return kept
  }
}
