/** Converts the fields that a ToolSet and a Tool have in common into those of the model. */
import { parseDurationMs } from '../../base/duration.ts'
import type { ToolSpec } from '../../model/schema/tool-spec.ts'
import type { ToolDefaults } from '../../model/tool-set.ts'

type Fields = Pick<ToolSpec, 'tags' | 'timeout' | 'maxResultKiB' | 'tasks' | 'rateLimit' | 'cache'>
type Converted = Partial<
  Pick<ToolDefaults, 'tags' | 'timeoutMs' | 'maxResultBytes' | 'tasks' | 'rateLimit' | 'cache'>
>

/** Absent fields stay absent. */
export function toToolFields({ tags, timeout, maxResultKiB, tasks, rateLimit, cache }: Fields): Converted {
  return {
    ...(tags === undefined ? {} : { tags: distinct(tags) }),
    ...(timeout === undefined ? {} : { timeoutMs: toMs(timeout) }),
    ...(maxResultKiB === undefined ? {} : { maxResultBytes: maxResultKiB * 1024 }),
    ...(tasks === undefined ? {} : { tasks }),
    ...(rateLimit === undefined
      ? {}
      : {
          rateLimit: { burst: Math.max(1, Math.ceil(rateLimit.requestsPerMinute / 60)), ...rateLimit },
        }),
    ...(cache === undefined ? {} : { cache: { ttlMs: toMs(cache.ttl) } }),
  }
}

export function distinct(items: readonly string[]): readonly string[] {
  return [...new Set(items)]
}

/** @param duration as the schema accepts it */
export function toMs(duration: string): number {
  return parseDurationMs(duration) ?? 0
}
