/** Compiles a file with resources or an OpenAPI document for inspection, and reports its faults. */
import { readFile, stat } from 'node:fs/promises'
import { basename, dirname, extname, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { isObject } from '../../base/json/is-object.ts'
import { asExactTool } from '../../model/exact-tool.ts'
import { DEFAULT_NAMING, DEFAULT_TOOL_DEFAULTS, type ToolSet } from '../../model/tool-set.ts'
import type { Egress } from '../../net/egress/egress.ts'
import type { CompileResult } from '../compile/compile-tool-set.ts'
import { own } from '../compile/dict.ts'
import type { Desired } from '../desired.ts'
import { desiredFromFiles } from '../directory/desired-from-files.ts'
import { type FileContent, isResourceName, readResourceFile } from '../directory/read-directory.ts'
import { parseDocumentText } from '../document/parse-document.ts'
import { fileReferences, readBelow } from '../resource/references.ts'
import { type CompileOutcome, runCompileJob } from '../sync/compile-job.ts'
import { folderFiles } from '../sync/file-readers.ts'
import { FileLoader } from '../sync/load-files.ts'
import { keyOf } from '../sync/resource-key.ts'
import { reconcileOnce } from './reconcile-once.ts'

/** The message is the fault in the file. */
export class InspectionError extends Error {}

export interface Inspection {
  readonly toolSet: ToolSet
  readonly result: CompileResult
}

export interface InspectOptions {
  readonly apiGroup: string
  /** Values of placeholders. */
  readonly variables: { readonly [name: string]: string }
  /** With the guard that `serve` has. */
  readonly egress: Egress
}

/** Replaces a missing server; it is never called. */
const PLACEHOLDER_SERVER = 'http://localhost'

/** @throws InspectionError when `serve` would not serve every resource of the file, or the document */
export async function inspectFile(path: string, options: InspectOptions): Promise<readonly Inspection[]> {
  const text = await orUnreadable(path, readFile(path, 'utf8'))
  if (isDocument(text)) return [await inspectDocument(path)]
  const directory = dirname(path)
  if (!isResourceName(basename(path)))
    throw new InspectionError(
      `${path} is not a resource file: use a file name that ends in ".yaml", ".yml" or ".json" and does not begin with a dot`,
    )
  const content = await readInspected(path, options)
  return inspectResources(
    await desiredFromFiles([content], new Map(), fileReferences(directory)),
    path,
    options,
  )
}

/** The resources of the file. @throws InspectionError when the file cannot be read */
export async function readInspected(path: string, options: InspectOptions): Promise<FileContent> {
  const { size } = await orUnreadable(path, stat(path))
  const file = { path: basename(path), stamp: '', isResource: true, bytes: size }
  return readResourceFile(file, { directory: dirname(path), ...options })
}

/** @throws InspectionError with path, reason and fix when the file system refuses the work */
export function orUnreadable<T>(path: string, work: Promise<T>): Promise<T> {
  return work.catch((error: NodeJS.ErrnoException) => {
    throw new InspectionError(
      `${path} cannot be read (${error.code ?? error.message}). Check the path and its permissions.`,
    )
  })
}

function isDocument(text: string): boolean {
  // a page that was saved in place of a document
  if (text.trimStart().startsWith('<')) return true
  try {
    const value = parseDocumentText(text)
    return isObject(value) && (own(value, 'openapi') !== undefined || own(value, 'swagger') !== undefined)
  } catch {
    // the reader of resources reports why
    return false
  }
}

async function inspectDocument(path: string): Promise<Inspection> {
  const folder = dirname(path)
  const toolSet = toolSetOf(basename(path, extname(path)))
  const document = await readFile(path)
  const loader = new FileLoader(
    folderFiles(pathToFileURL(resolve(path)).href, name => readBelow(folder, name)),
  )
  const outcome = await loader.run(async files =>
    runCompileJob({ document, uri: loader.uri, files, toolSet, documentUrl: PLACEHOLDER_SERVER }),
  )
  const result = resultOf(outcome)
  if (typeof result === 'string') throw new InspectionError(`${path}: ${result}`)
  // A ToolSet would name the credential.
  return { toolSet, result: { ...result, withoutCredential: [] } }
}

async function inspectResources(
  desired: Desired,
  path: string,
  options: InspectOptions,
): Promise<Inspection[]> {
  const { toolSets, outcomes, faults } = await reconcileOnce(desired, dirname(path), options)
  for (const { name, toolSet } of toolSets)
    if (toolSet !== undefined && toolSet.source === undefined)
      faults.push(
        `ToolSet ${name}: spec.openAPISpec is missing: add the document from which to generate tools`,
      )
  if (toolSets.length === 0 && desired.views.length === 0 && faults.length === 0)
    faults.push(
      'the file contains neither a ToolSet nor a ToolView: pass a file that contains a ToolSet, a ToolView or an OpenAPI document',
    )
  if (faults.length > 0) throw new InspectionError(`${path}: ${[...new Set(faults)].join('; ')}`)
  return toolSets.map(({ toolSet }) => ({
    toolSet: toolSet!,
    result: resultOf(outcomes.get(keyOf(toolSet!))!) as CompileResult,
  }))
}

/** A string: why there are no tools. */
function resultOf(outcome: CompileOutcome): CompileResult | string {
  if (outcome.kind === 'fault') return outcome.message
  if (outcome.kind !== 'compiled')
    throw new Error('the compiler reported an unchanged document, although it received no earlier hash')
  return { ...outcome.result, tools: outcome.result.tools.map(asExactTool) }
}

/** A document without an absolute server is valid here. */
function toolSetOf(name: string): ToolSet {
  return {
    name,
    namespace: 'platform',
    displayName: name,
    selector: {},
    toolDefaults: DEFAULT_TOOL_DEFAULTS,
    naming: DEFAULT_NAMING,
    enabled: true,
  }
}
