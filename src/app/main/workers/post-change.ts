/** Posts a change of the configuration to a worker thread, in messages that block neither thread for long. */
import { countValues } from '../../../base/json-schema/cost.ts'
import type { PortLine } from '../../../base/threads/port-line.ts'
import type { SnapshotChange } from '../../../link/change.ts'
import type { Tool } from '../../../model/tool.ts'

/** Tools, and values of their schemas, of one message: the thread that receives it is blocked for some milliseconds. */
const TOOLS_PER_MESSAGE = 200
const VALUES_PER_MESSAGE = 10_000

function* messagesOf(tools: readonly Tool[]): Generator<readonly Tool[]> {
  let message: Tool[] = []
  let values = 0
  for (const tool of tools) {
    const size = countValues(tool)
    if (message.length === TOOLS_PER_MESSAGE || (message.length > 0 && values + size > VALUES_PER_MESSAGE)) {
      yield message
      message = []
      values = 0
    }
    message.push(tool)
    values += size
  }
  yield message
}

/**
 * @returns the reason for which the thread cannot serve the change; undefined when it serves it, or has ended: its replacement starts with the whole
 *   configuration
 */
export async function applyTo(line: PortLine, change: SnapshotChange): Promise<string | undefined> {
  const { tools, ...rest } = change
  try {
    if (tools === undefined) return await line.ask<string | undefined>('apply', rest)
    let posted = 0
    for (const message of messagesOf(tools)) {
      await line.ask('tools', message, posted === 0)
      posted += message.length
    }
    return await line.ask<string | undefined>('apply', rest, tools.length)
  } catch (error) {
    return line.closed ? undefined : (error as Error).message
  }
}
