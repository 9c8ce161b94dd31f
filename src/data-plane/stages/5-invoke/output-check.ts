/** Checks the structured content of a result with the validator of its tool, and makes an error of a result that does not pass. */
import { andThen, type MaybePromise } from '../../../base/and-then.ts'
import type { Reply } from '../../pipeline/outcome.ts'
import type { CompiledTool } from '../../snapshot/snapshot.ts'

const MAX_FAULTS = 5

/**
 * @param missing says what is wrong with a response that has none
 * @returns the same reply, or an error of the tool that keeps the text: clients check no structured content of an error
 */
export function checkedOutput(
  reply: Reply,
  validate: NonNullable<CompiledTool['validateOutput']>,
  missing = 'is not JSON',
): MaybePromise<Reply> {
  const { isError, structuredContent } = reply.result
  if (isError) return reply
  if (structuredContent === undefined) return withoutStructure(reply, missing)
  return andThen(validate(structuredContent), outcome => {
    if (typeof outcome === 'string') return withoutStructure(reply, 'could not be checked in time')
    if (outcome.length === 0) return reply
    const faults = outcome.slice(0, MAX_FAULTS).map(({ path, message }) => `${path || '/'} ${message}`)
    return withoutStructure(reply, `does not match the outputSchema of the tool: ${faults.join('; ')}`)
  })
}

function withoutStructure(reply: Reply, reason: string): Reply {
  const { structuredContent: _, ...result } = reply.result
  const text = `The call succeeded, but its response ${reason}. The response follows as text.`
  return {
    ...reply,
    result: { ...result, content: [{ type: 'text', text }, ...result.content], isError: true },
  }
}
