/** Runs one compilation from text to tools; defines its input, its outcome and the interface of a compiler. */
import { createHash } from 'node:crypto'
import type { BoundSecret } from '../../model/bound-secret.ts'
import { asPlainTool } from '../../model/exact-tool.ts'
import type { ToolSet } from '../../model/tool-set.ts'
import type { CompileResult, ToolBounds } from '../compile/compile-tool-set.ts'
import { DocumentError } from '../compile/document.ts'
import { compileLinked, type GivenFiles, type Incomplete, textOf } from '../document/compile-linked.ts'
import { parseDocumentText } from '../document/parse-document.ts'
import { specHash } from '../document/spec-hash.ts'
import { compileListing, isMcpToolSet, type McpToolSet } from '../mcp/compile-listing.ts'
import { type Definitions, definitionOf } from './definitions.ts'

export interface CompileJob {
  /** Text or UTF-8. */
  readonly document: string | Uint8Array
  /** Address of the document, the base of references to files. */
  readonly uri?: string
  /** The files that were named as missing so far; undefined: the document has no files. */
  readonly files?: GivenFiles
  readonly toolSet: ToolSet
  /** Address of the document, for relative servers. */
  readonly documentUrl?: string
  readonly credential?: BoundSecret
  /** Hash of the document whose tools the caller has; the same hash is not compiled again. */
  readonly knownHash?: string
  /** The documents that `overlays` of the tool set refer to, in this order. */
  readonly overlayTexts?: readonly (string | Uint8Array)[]
  /** undefined: the document is one of the operator. */
  readonly bounds?: ToolBounds
}

export type CompileOutcome =
  | {
      readonly kind: 'compiled'
      readonly specHash: string
      /** SHA-256 of the tools, hex. */
      readonly toolsHash: string
      readonly result: CompileResult
      readonly definitions: Definitions
    }
  | { readonly kind: 'unchanged'; readonly specHash: string }
  | { readonly kind: 'fault'; readonly message: string }
  | Incomplete

/** `document`: the bytes of the job, which were moved to the worker while it ran. */
export type Compiled = CompileOutcome & { readonly document?: Uint8Array }

export interface ToolSetCompiler {
  /** Never rejects. The bytes of a large document are moved to the compiler and returned with the outcome, unless the worker ends. */
  compile(job: CompileJob): Promise<Compiled>
  close(): Promise<void>
}

/** @throws DocumentError */
function compileServer(document: unknown, toolSet: McpToolSet, job: CompileJob): CompileOutcomeOfList {
  const hash = specHash(document)
  if (hash === job.knownHash) return { kind: 'unchanged', specHash: hash }
  return { kind: 'compiled', specHash: hash, result: compileListing(document, toolSet, job.credential) }
}

type CompileOutcomeOfList = Exclude<ReturnType<typeof compileLinked>, Incomplete>

export function runCompileJob(job: CompileJob): CompileOutcome {
  try {
    const { toolSet } = job
    const document = parseDocumentText(textOf(job.document))
    const linked = isMcpToolSet(toolSet)
      ? compileServer(document, toolSet, job)
      : compileLinked({ ...job, document })
    if (linked.kind !== 'compiled') return linked
    const { specHash: hash } = linked
    const result = { ...linked.result, tools: linked.result.tools.map(asPlainTool) }
    if (result.tools.length === 0 && result.skipped.length > 0) {
      const { operation, reason } = result.skipped[0]!
      const count = result.skipped.length
      return {
        kind: 'fault',
        message: `no operation became a tool (skipped: ${count}), for example ${operation}: ${reason}`,
      }
    }
    const toolsHash = createHash('sha256')
    for (const tool of result.tools) toolsHash.update(JSON.stringify(tool))
    const definitions = Object.fromEntries(result.tools.map(tool => [tool.name, definitionOf(tool)]))
    return { kind: 'compiled', specHash: hash, toolsHash: toolsHash.digest('hex'), result, definitions }
  } catch (error) {
    if (error instanceof DocumentError) return { kind: 'fault', message: error.message }
    if (error instanceof RangeError) return { kind: 'fault', message: 'the document is nested too deeply' }
    const reason = error instanceof Error ? error.message : String(error)
    return { kind: 'fault', message: `the document could not be compiled: ${reason.slice(0, 300)}` }
  }
}
