/** Compiles an OpenAPI document with a ToolSet into tools, resources and prompts, and reports what it skips. */

import { writeJson } from '../../base/json/exact-number.ts'
import { isObject } from '../../base/json/is-object.ts'
import type { BoundSecret } from '../../model/bound-secret.ts'
import type { Tool } from '../../model/tool.ts'
import { type ToolOverride, type ToolSet, tenantOfNamespace } from '../../model/tool-set.ts'
import { own, strings, text } from './dict.ts'
import { DocumentError, OpenDocument, type RawOperation } from './document.ts'
import { documentFeatures } from './document-features.ts'
import { toolName, uniqueNames } from './names.ts'
import { compileOperation, type OperationParts, schemas } from './operation.ts'
import { applyOverride, overrideOf } from './overrides.ts'
import { credentialPlaces, requiredSchemes } from './security.ts'
import { isSelected, type Selectable, unmatchedEntries } from './select.ts'
import { SkippedOperation } from './skipped.ts'

interface SkippedReport {
  /** operationId, else `{METHOD} {path}`. */
  readonly operation: string
  readonly reason: string
}

/** A deviation from the document that does not prevent the tool. */
interface Notice {
  /** undefined: the whole document. */
  readonly operation: string | undefined
  readonly message: string
}

/** A reference that leads to nothing usable. */
export interface UnresolvedReference {
  /** Where the reference is: `{file}#{JSON Pointer}`; the file of the document itself is ''. */
  readonly pointer: string
  readonly reference: string
  readonly reason: string
  readonly fix: string
}

export interface CompileResult {
  readonly tools: readonly Tool[]
  /** Selected operations, resources and prompts that could not be compiled, and paths that cannot be read. */
  readonly skipped: readonly SkippedReport[]
  readonly notices: readonly Notice[]
  /** References of the document and its files, without those that are only counted in `moreUnresolved`. */
  readonly unresolved: readonly UnresolvedReference[]
  readonly moreUnresolved: number
  /** Entries of `spec` that match nothing, as `selector.tags: admin`. */
  readonly unmatched: readonly string[]
  /** Operations that need a credential although the tool set has none, with the names of the security schemes. */
  readonly withoutCredential: readonly { readonly operation: string; readonly schemes: readonly string[] }[]
  /** Number of selected operations, resources and prompts, without hidden ones. */
  readonly selected: number
  /** Texts of an MCP server that may instruct models; absent: a document. */
  readonly suspicious?: readonly string[]
  /** Number of overlay actions whose target matches something. */
  readonly overlaid: number
}

/** For the tools of one document. */
export interface ToolBounds {
  readonly maxTools: number
  /** For their JSON. */
  readonly maxChars: number
}

interface CompileOptions {
  /** undefined: as many tools as the document has operations. */
  readonly bounds?: ToolBounds
  /** Address of the document, the base of relative servers. */
  readonly documentUrl?: string
  /** The credential of `toolDefaults.authentication.secretRef`. */
  readonly credential?: BoundSecret
  /** Found when the files of the document were joined. */
  readonly unresolved?: readonly UnresolvedReference[]
  readonly moreUnresolved?: number
  /** For the overlays that were applied. */
  readonly overlaid?: number
  readonly unmatchedActions?: readonly string[]
}

/** Further notices are only counted. */
const MAX_NOTICES = 500

/**
 * @param document parsed JSON or YAML; never changed
 * @throws DocumentError when the document as a whole is invalid, or its tools exceed the bounds
 */
export function compileToolSet(
  document: unknown,
  toolSet: ToolSet,
  options: CompileOptions = {},
): CompileResult {
  const open = new OpenDocument(document)
  const skipped: SkippedReport[] = []
  const chosen = chooseOperations(open, toolSet, skipped)
  const size = new BoundedSize(chosen.length, options.bounds)
  const notices = new Notices()
  const parts = operationParts(open, toolSet, options, notices)
  const names = uniqueNames(chosen, toolSet.naming.maxLength)
  const tools: Tool[] = []
  chosen.forEach((entry, i) => {
    notices.operation = entry.label
    try {
      const tool = compileOperation(entry.raw, names[i]!, parts)
      tools.push(entry.override === undefined ? tool : applyOverride(tool, entry.override))
      size.add(tool)
    } catch (error) {
      if (error instanceof DocumentError) throw error
      skipped.push({ operation: entry.label, reason: reasonOf(error) })
    }
  })
  notices.operation = undefined
  const features = documentFeatures(parts)
  tools.push(...features.features)
  skipped.push(...features.skipped)
  return {
    tools,
    skipped,
    notices: notices.all(),
    unresolved: options.unresolved ?? [],
    moreUnresolved: options.moreUnresolved ?? 0,
    unmatched: [
      ...(options.unmatchedActions ?? []),
      ...unmatchedEntries(operationsOf(open), toolSet.selector).map(entry => `selector.${entry}`),
      ...unmatchedOverrides(open, toolSet.overrides),
    ],
    withoutCredential: toolSet.toolDefaults.authentication.type === 'none' ? needy(open, chosen) : [],
    selected: chosen.length + features.features.length + countBroken(skipped, chosen),
    overlaid: options.overlaid ?? 0,
  }
}

interface Chosen {
  readonly raw: RawOperation
  readonly override: ToolOverride | undefined
  readonly label: string
  readonly name: string
  readonly method: string
  readonly path: string
}

function chooseOperations(open: OpenDocument, toolSet: ToolSet, skipped: SkippedReport[]): Chosen[] {
  const chosen: Chosen[] = []
  for (const raw of open.operations()) {
    if ('reason' in raw) {
      const { pathPrefix = '' } = toolSet.selector
      if (raw.path.startsWith(pathPrefix)) skipped.push({ operation: raw.path, reason: raw.reason })
      continue
    }
    const { method, path } = raw
    if (!isObject(raw.operation)) {
      skipped.push({ operation: `${method} ${path}`, reason: 'the operation is not an object' })
      continue
    }
    const operationId = text(own(raw.operation, 'operationId'))
    const tags = strings(own(raw.operation, 'tags'))
    if (!isSelected({ method, path, operationId, tags }, toolSet.selector)) continue
    const override = overrideOf(toolSet.overrides, { method, path, operationId })
    if (override?.hidden === true) continue
    const name = override?.name ?? toolName({ method, path, operationId }, toolSet.naming)
    chosen.push({ raw, override, label: operationId ?? `${method} ${path}`, name, method, path })
  }
  return chosen
}

/** What a selector may match. */
function* operationsOf(open: OpenDocument): Generator<Selectable> {
  for (const raw of open.operations()) {
    if ('reason' in raw || !isObject(raw.operation)) continue
    const operationId = text(own(raw.operation, 'operationId'))
    yield {
      method: raw.method,
      path: raw.path,
      operationId,
      tags: strings(own(raw.operation, 'tags')),
    }
  }
}

function unmatchedOverrides(open: OpenDocument, overrides: readonly ToolOverride[] = []): string[] {
  const left = new Set(overrides)
  for (const operation of left.size === 0 ? [] : operationsOf(open)) {
    const used = overrideOf(overrides, operation)
    if (used !== undefined) left.delete(used)
  }
  return [...left].map(({ operation }) => `overrides: ${operation}`)
}

function needy(open: OpenDocument, chosen: readonly Chosen[]): CompileResult['withoutCredential'] {
  const all = chosen.map(({ raw, label }) => ({ operation: label, schemes: requiredSchemes(open, raw) }))
  return all.filter(({ schemes }) => schemes.length > 0)
}

function operationParts(
  open: OpenDocument,
  toolSet: ToolSet,
  options: CompileOptions,
  notices: Notices,
): OperationParts {
  const tenant = tenantOfNamespace(toolSet.namespace)
  const notice = (message: string) => notices.add(message)
  return {
    document: open,
    toolSet,
    // Such a namespace is refused when the resource is read; '' is the safe value here, because no tenant has this name.
    tenant: tenant === undefined ? '' : tenant,
    documentUrl: options.documentUrl,
    credential: options.credential,
    notice,
    credentialPlaces: credentialPlaces(open),
    request: schemas(open, 'request', notice),
    response: schemas(open, 'response', notice),
  }
}

function countBroken(skipped: readonly SkippedReport[], chosen: readonly Chosen[]): number {
  const labels = new Set(chosen.map(entry => entry.label))
  return skipped.filter(entry => !labels.has(entry.operation)).length
}

class BoundedSize {
  readonly #bounds: ToolBounds | undefined
  #chars = 0

  /** @throws DocumentError */
  constructor(operations: number, bounds: ToolBounds | undefined) {
    this.#bounds = bounds
    if (bounds !== undefined && operations > bounds.maxTools)
      throw new DocumentError(
        `the document has ${operations} operations, more than the limit of ${bounds.maxTools}: split the document`,
      )
  }

  /** @throws DocumentError */
  add(tool: Tool): void {
    if (this.#bounds === undefined) return
    this.#chars += writeJson(tool).length
    if (this.#chars > this.#bounds.maxChars)
      throw new DocumentError(
        `the tools generated from the document need more than ${this.#bounds.maxChars} characters of JSON, the limit for one document: shorten the schemas, or split the document`,
      )
  }
}

class Notices {
  operation: string | undefined
  readonly #kept: Notice[] = []
  readonly #seen = new Set<string>()
  #more = 0

  add(message: string): void {
    const key = `${this.operation ?? ''}\n${message}`
    if (this.#seen.has(key)) return
    if (this.#kept.length >= MAX_NOTICES) {
      this.#more++
      return
    }
    this.#seen.add(key)
    this.#kept.push({ operation: this.operation, message })
  }

  all(): readonly Notice[] {
    if (this.#more === 0) return this.#kept
    return [...this.#kept, { operation: undefined, message: `further notices: ${this.#more}` }]
  }
}

function reasonOf(error: unknown): string {
  if (error instanceof SkippedOperation) return error.message
  if (error instanceof RangeError)
    return 'the schemas of the operation are nested too deeply, or the chain of their references is too long'
  return `the operation could not be read: ${error instanceof Error ? error.message : String(error)}`
}
