/** The capabilities that the gateway declares to MCP clients, and its levels of token optimization. */

import type { ProtocolVersion } from '../../mcp/versions.ts'
import { OPTIMIZATION_LEVELS } from '../pipeline/operation.ts'
import type { ServedFeatures } from '../snapshot/snapshot.ts'
import { taskCapabilities } from './mcp/tasks/task-view.ts'

export const TOKEN_OPTIMIZATION = Object.freeze({ supported: true, levels: OPTIMIZATION_LEVELS })

/** Capabilities of every gateway. `prompts` and `resources` are declared although their lists are empty. */
const COMMON = Object.freeze({
  tools: { listChanged: true },
  resources: {},
  prompts: {},
  tokenOptimization: TOKEN_OPTIMIZATION,
  elicitation: {},
})

/**
 * The same everywhere (docs/reference/http.md, Discovery), but for what only some servers do: it is declared where one of the catalog does it.
 * @param served undefined before the first snapshot
 * @param version of the conversation, where there is one: tasks differ between versions
 */
export function capabilitiesOf(served: ServedFeatures | undefined, version?: ProtocolVersion): object {
  if (served === undefined) return COMMON
  const { resources, prompts, completions, subscriptions, logging, tasks } = served
  return {
    ...COMMON,
    ...(resources
      ? { resources: { listChanged: true, ...(subscriptions ? { subscribe: true } : undefined) } }
      : undefined),
    ...(prompts ? { prompts: { listChanged: true } } : undefined),
    ...(completions ? { completions: {} } : undefined),
    ...(logging ? { logging: {} } : undefined),
    ...(tasks && version !== undefined ? taskCapabilities(version) : undefined),
  }
}
