/** The subject's key of an input that comes from a log or was kept, without its principal. It reads nothing of resource and context. */
import type { PolicyInput } from './engine.ts'

/** All facts about the caller but the application, which the cache of decisions compares itself where a rule reads it. */
export function subjectKeyOf({ subject }: PolicyInput): string {
  const { consumer: _, ...facts } = subject.properties
  return JSON.stringify(facts)
}
