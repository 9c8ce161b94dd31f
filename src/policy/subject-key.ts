/** The subject's key of a policy input, for evaluations without a principal. */
import type { PolicyInput } from './engine.ts'

/** The facts about the caller except type, id and application, which the cache of decisions compares itself where a rule reads them. */
export function subjectKeyOf({ subject }: PolicyInput): string {
  const { consumer: _, ...facts } = subject.properties
  return JSON.stringify(facts)
}
