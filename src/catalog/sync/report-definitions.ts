/** What the log says of the definitions of MCP servers: changes that wait, and texts that may instruct models. */
import type { ToolSetStatus } from '../../model/tool-set.ts'
import type { Log } from '../../telemetry/log.ts'
import { boundFindings, shadowingTexts } from '../mcp/suspicious-texts.ts'
import type { ResourceName } from './resource-key.ts'
import { waitingTools } from './status.ts'
import type { CompiledTools, ToolSetState } from './tool-set-state.ts'

export function logNewChange(
  log: Log,
  { namespace, name, status: before }: ToolSetState,
  { pendingDefinitions: pending }: ToolSetStatus,
): void {
  if (pending === undefined || pending.specHash === before.pendingDefinitions?.specHash) return
  log.warn(
    { namespace, tool_set: name, spec_hash: pending.specHash, tools: waitingTools(pending) },
    'an MCP server changed the definitions of its tools; the gateway serves the accepted ones until the change is accepted',
  )
}

/** @param entries all tool sets, for tools that a description names */
export function suspiciousIn(
  { tools, result }: CompiledTools,
  entry: ToolSetState,
  entries: Iterable<ToolSetState>,
  log: Log,
): readonly string[] {
  if (result.suspicious === undefined) return []
  const names = new Set<string>()
  for (const other of entries)
    if (other !== entry && isSeenWith(entry, other))
      for (const { name, operation } of other.served?.tools ?? []) names.add(name).add(operation)
  for (const { name, operation } of tools) for (const own of [name, operation]) names.delete(own)
  const findings = boundFindings([...result.suspicious, ...shadowingTexts(tools, names)])
  if (findings.length > 0)
    log.warn(
      { namespace: entry.namespace, tool_set: entry.name, findings },
      'the definitions of an MCP server contain texts that may instruct models; the gateway serves them',
    )
  return findings
}

/** Some caller sees the tools of both. */
function isSeenWith(one: ResourceName, other: ResourceName): boolean {
  const shared = 'platform'
  return one.namespace === other.namespace || one.namespace === shared || other.namespace === shared
}
