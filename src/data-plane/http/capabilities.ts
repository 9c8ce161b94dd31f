/** What the gateway says it can do: one object for initialize, `/mcp/capabilities` and `server/discover`. Nothing is negotiated here. */
import { OPTIMIZATION_LEVELS } from '../pipeline/operation.ts'

/** Capabilities are the same object everywhere (docs/reference/http.md, Discovery). `prompts` and `resources` are declared with empty lists. */
export const CAPABILITIES = Object.freeze({
  tools: { listChanged: true },
  resources: {},
  prompts: {},
  tokenOptimization: { supported: true, levels: OPTIMIZATION_LEVELS },
  elicitation: {},
})
