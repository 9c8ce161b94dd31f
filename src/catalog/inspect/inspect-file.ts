/** Compiles a file with a ToolSet resource or an OpenAPI document for inspection. It uses no network. */

import { readFile } from 'node:fs/promises'
import { basename, dirname, extname, join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { isObject } from '../../model/is-object.ts'
import { DEFAULT_NAMING, DEFAULT_TOOL_DEFAULTS, type ToolSet } from '../../model/tool-set.ts'
import type { CompileResult } from '../compile/compile-tool-set.ts'
import { own } from '../compile/dict.ts'
import { DocumentError } from '../compile/document.ts'
import { compileLinked } from '../document/compile-linked.ts'
import { parseDocumentText } from '../document/parse-document.ts'
import { faultText, type ResourceFault } from '../resource/fields.ts'
import { fillPlaceholders } from '../resource/placeholders.ts'
import { fileReferences, readBelow } from '../resource/references.ts'
import { readResource } from '../resource/resource.ts'
import { folderFiles, noFiles } from '../sync/file-readers.ts'
import { FileLoader, type FileReader } from '../sync/load-files.ts'

/** The message is the fault in the file. */
export class InspectionError extends Error {}

export interface Inspection {
  readonly toolSet: ToolSet
  readonly result: CompileResult
}

interface InspectOptions {
  readonly apiGroup: string
  readonly variables: { readonly [name: string]: string }
}

/** Replaces a missing server; it is never called. */
const PLACEHOLDER_SERVER = 'http://localhost'

/** @throws InspectionError */
export async function inspectFile(path: string, options: InspectOptions): Promise<Inspection> {
  try {
    const value = parseDocumentText(await readText(path))
    if (isOpenApi(value)) {
      const toolSet = toolSetOf(basename(path, extname(path)))
      const result = await compile(value, toolSet, filesBeside(path), PLACEHOLDER_SERVER)
      // A ToolSet would name the credential.
      return { toolSet, result: { ...result, withoutCredential: [] } }
    }
    const toolSet = toolSetFrom(value, options)
    const document = parseDocumentText(await documentText(toolSet, dirname(path)))
    return { toolSet, result: await compile(document, toolSet, filesOf(toolSet, dirname(path)), undefined) }
  } catch (error) {
    if (error instanceof DocumentError) throw new InspectionError(`${path}: ${error.message}`)
    throw error
  }
}

function isOpenApi(value: unknown): boolean {
  return isObject(value) && (own(value, 'openapi') !== undefined || own(value, 'swagger') !== undefined)
}

async function compile(
  document: unknown,
  toolSet: ToolSet,
  reader: FileReader,
  documentUrl: string | undefined,
): Promise<CompileResult> {
  const { uri } = reader
  const outcome = await new FileLoader(reader).run(async files =>
    compileLinked({ document, uri, files, toolSet, documentUrl }),
  )
  if (outcome.kind === 'compiled') return outcome.result
  throw new Error('a document without a known hash is always compiled')
}

function filesBeside(path: string): FileReader {
  const folder = dirname(path)
  return folderFiles(pathToFileURL(resolve(path)).href, name => readBelow(folder, name))
}

function filesOf({ source }: ToolSet, directory: string): FileReader {
  if (source?.kind !== 'configMap')
    return noFiles(source?.kind === 'secret' ? 'a document in a Secret' : 'an inline document')
  return filesBeside(join(directory, 'configmaps', source.ref.name, source.ref.key))
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

function toolSetFrom(value: unknown, options: InspectOptions): ToolSet {
  const read = readResource(fillPlaceholders(value, standIns(value, options.variables), []), options.apiGroup)
  if (!read.ok) throw new InspectionError(`the resource has faults: ${faultText(read.faults)}`)
  if (read.resource.kind === 'ToolSet') return read.resource.value
  throw new InspectionError('the file contains a Tool: give a ToolSet or an OpenAPI document')
}

/** Placeholders without a value get the placeholder server, since no backend is called. */
function standIns(value: unknown, variables: InspectOptions['variables']): InspectOptions['variables'] {
  const faults: ResourceFault[] = []
  fillPlaceholders(value, variables, faults)
  const names = faults.map(fault => /\$\{(\w+)\}/.exec(fault.reason)?.[1] ?? '')
  return { ...Object.fromEntries(names.map(name => [name, PLACEHOLDER_SERVER])), ...variables }
}

async function documentText({ source, namespace }: ToolSet, directory: string): Promise<string> {
  if (source === undefined)
    throw new InspectionError('spec.openAPISpec is missing: add the document from which to generate tools')
  const references = fileReferences(directory)
  try {
    if (source.kind === 'inline') return source.text
    if (source.kind !== 'url')
      return Buffer.from(await references.readDocument(source.kind, namespace, source.ref)).toString('utf8')
  } catch (error) {
    throw new InspectionError((error as Error).message)
  }
  throw new InspectionError(
    `the document is at ${source.url}, which is not fetched here: save it to a file and inspect that file`,
  )
}

async function readText(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    throw new InspectionError(
      `${path} cannot be read (${(error as NodeJS.ErrnoException).code ?? 'unknown'})`,
    )
  }
}
